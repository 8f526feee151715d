import { expect, it } from 'vitest';
import { fileIn } from '../../server/ignition/config-file.ts';
import { rendererFor } from './make.ts';

const FILE = '/etc/railhead/images.asc';
const key = (text: string): string => `-----BEGIN PGP PUBLIC KEY BLOCK-----\n${text}\n`;

it('an installer verifies the image with the key that the server has, always the newest', async () => {
  let imageKey: string | undefined;
  const { renderer, host } = await rendererFor(undefined, { imageKey: async () => imageKey });
  const keyOfInstaller = async (): Promise<string | undefined> => {
    const token = 't'.repeat(22);
    const rendered = await renderer.render({ host: host(), purpose: 'installer', wipe: false, token });
    if ('problems' in rendered) throw new Error(rendered.problems.join('\n'));
    return fileIn(JSON.parse(rendered.bytes.toString()), FILE)?.toString();
  };
  expect(await keyOfInstaller(), 'flatcar-install has one of its own').toBeUndefined();
  for (imageKey of [key('one'), key('two')]) expect(await keyOfInstaller()).toBe(imageKey);
});
