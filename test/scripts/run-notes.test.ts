import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { noteForRun, readRunNotes } from '../../scripts/lib/run-notes.mjs';
import { tempFolder } from '../support/temp.ts';

describe('notes of a test run', () => {
  test('are read back once each, in their order', async () => {
    const file = join(await tempFolder(), 'notes');
    vi.stubEnv('RAILHEAD_RUN_NOTES', file);
    noteForRun('version', 'QEMU 7.2.22 (fetched)');
    noteForRun('skip', 'no "etcd":\nit needs a network');
    noteForRun('version', 'QEMU 7.2.22 (fetched)');
    noteForRun('skip', 'QEMU 7.2.22 (fetched)');
    vi.unstubAllEnvs();
    expect(readRunNotes(file)).toEqual([
      { kind: 'version', text: 'QEMU 7.2.22 (fetched)' },
      { kind: 'skip', text: 'no "etcd":\nit needs a network' },
      { kind: 'skip', text: 'QEMU 7.2.22 (fetched)' },
    ]);
  });

  test('are not kept outside of a run', async () => {
    vi.stubEnv('RAILHEAD_RUN_NOTES', '');
    noteForRun('version', 'QEMU 7.2.22 (fetched)');
    vi.unstubAllEnvs();
    expect(readRunNotes(join(await tempFolder(), 'none'))).toEqual([]);
  });
});
