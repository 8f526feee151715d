import { expect, it } from 'vitest';
import { UndoList } from '../../server/app/undo.ts';

it('stops in the opposite order, one after the other, and whatever fails in between', async () => {
  const undo = new UndoList();
  const done: string[] = [];
  const faults: unknown[] = [];
  undo.add(() => done.push('first'));
  undo.add(() => {
    throw new Error('second');
  });
  undo.add(async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    done.push('third');
  });
  undo.add(() => Promise.reject(new Error('fourth')));
  await undo.run((error) => void faults.push((error as Error).message));
  expect(done).toEqual(['third', 'first']);
  expect(faults).toEqual(['fourth', 'second']);
});

it('stops nothing twice', async () => {
  const undo = new UndoList();
  let times = 0;
  undo.add(() => times++);
  await undo.run(() => {});
  await undo.run(() => {});
  expect(times).toBe(1);
});
