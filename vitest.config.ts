import { defineConfig } from 'vitest/config';

/**
 * unit: functions and parts in this process, on SQLite; under half a minute.
 * all: also PostgreSQL, real processes and real clients.
 */
export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Processes under test compete for two cores: more files at once make each of them slow, not the whole fast.
    maxWorkers: 2,
    reporters: ['default'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/{process,interop,e2e}/**'],
          // Nothing there has state of its own: one process for many files saves half the time.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'real',
          include: ['test/{process,interop,e2e}/**/*.test.ts'],
          // Real clients on lossy links beside virtual machines on two cores: once, a download got no packet for 55 s.
          retry: 1,
        },
      },
    ],
  },
});
