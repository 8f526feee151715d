import { expect, it } from 'vitest';
import { Pairing } from '../../server/feed/pairing.ts';

function setUp() {
  let time = 0;
  let version = 1;
  const pairing = new Pairing<number>(() => time);
  return {
    sums: (client = 'a') => pairing.choose(client, 'sums', async () => version),
    signature: (client = 'a') => pairing.choose(client, 'signature', async () => version),
    publish: () => void version++,
    wait: (ms: number) => {
      time += ms;
    },
  };
}

it('gives the signature of the sums that a client has, although a version was published since', async () => {
  const { sums, signature, publish } = setUp();
  expect(await sums()).toBe(1);
  publish();
  expect(await signature()).toBe(1);
  expect(await sums()).toBe(2);
  expect(await signature()).toBe(2);
});

it('works the other way round, and for both at once', async () => {
  const { sums, signature, publish } = setUp();
  expect(await signature()).toBe(1);
  publish();
  expect(await sums()).toBe(1);
  const both = Promise.all([sums(), signature()]);
  publish();
  const [a, b] = await both;
  expect(a).toBe(b);
});

it('never gives old sums to who asks for sums again', async () => {
  const { sums, signature, publish } = setUp();
  await sums();
  publish();
  expect(await sums()).toBe(2);
  expect(await signature()).toBe(2);
});

it('knows clients apart, and forgets those that never come back', async () => {
  const { sums, signature, publish, wait } = setUp();
  await sums('a');
  publish();
  expect(await signature('b')).toBe(2);
  wait(60_000);
  expect(await signature('a')).toBe(2);
});
