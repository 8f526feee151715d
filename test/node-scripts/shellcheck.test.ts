import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ensureParts } from '../../scripts/lib/parts.mjs';
import { SCRIPTS, shells } from './node.ts';

const files = readdirSync(SCRIPTS)
  .map((name) => join(SCRIPTS, name))
  .filter((path) => readFileSync(path, 'utf8').startsWith('#!/bin/sh'));

const wanted = process.env.RAILHEAD_TEST_PARTS === 'none' ? undefined : await ensureParts(['shellcheck']);
const shellcheck = wanted?.shellcheck;
const SHELLS = await shells();

it.skipIf(shellcheck === undefined)('shellcheck has nothing to say about the scripts of hosts', () => {
  expect(files.length).toBeGreaterThan(3);
  const { path, env } = shellcheck!;
  // 1091: what is read with "." is only there on the host.
  const { stdout, stderr } = spawnSync(path, ['--shell=sh', '--exclude=SC1091', ...files], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  expect(stdout + stderr).toBe('');
});

it.each(SHELLS)('$name can read them all', ({ command: [program = '', ...args] }) => {
  for (const file of files) {
    expect(spawnSync(program, [...args, '-n', file], { encoding: 'utf8' })).toMatchObject({
      status: 0,
      stderr: '',
    });
  }
});
