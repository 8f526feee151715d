import type { TestProject } from 'vitest/node';
import { buildInBackground } from '../../scripts/lib/kubernetes-binaries.mjs';
import { ensureParts } from '../../scripts/lib/parts.mjs';
import { startPostgres, type TestPostgres } from './postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where a private PostgreSQL listens; `undefined` when it can't be had, which was said loudly. */
    postgresUrl: string | undefined;
  }
}

let postgres: Promise<TestPostgres | undefined> | undefined;

/** Starts what several test files share, once for all of them. */
export async function setup(project: TestProject): Promise<void> {
  postgres ??= start();
  project.provide('postgresUrl', (await postgres)?.url);
}

export async function teardown(): Promise<void> {
  const running = await postgres;
  postgres = undefined;
  await running?.stop();
}

async function start(): Promise<TestPostgres | undefined> {
  if (process.env.RAILHEAD_TEST_PARTS === 'none') return undefined;
  // Takes a quarter of an hour the first time: tests that need it come late, or go without.
  buildInBackground();
  const parts = await ensureParts(['postgres']);
  return parts.postgres === undefined ? undefined : startPostgres({ postgres: parts.postgres });
}
