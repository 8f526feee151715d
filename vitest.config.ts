import { defineConfig } from 'vitest/config';

/**
 * unit: functions and parts in this process, on SQLite; under half a minute.
 * real: PostgreSQL, real processes, real clients and virtual machines.
 * long: what takes too long for every day; `npm run test:long`.
 */
export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    // Tests wait for events; these only end what hangs. A busy machine may need ten times as long as an idle one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    // Processes under test compete for two cores: more files at once make each of them slow, not the whole fast.
    maxWorkers: 2,
    // A busy machine fails one in some thousands of tests that wait for real processes; who needed it is printed.
    retry: 1,
    reporters: ['default', './test/support/second-tries.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/{process,interop,node-scripts,e2e,long}/**'],
          // Nothing there has state of its own: one process for many files saves half the time.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'real',
          include: ['test/{process,interop,node-scripts,e2e}/**/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'long',
          include: ['test/long/**/*.test.ts'],
        },
      },
    ],
  },
});
