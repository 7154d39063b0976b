import { defineConfig } from 'vitest/config';

/** The real git-lfs client against the embedded stack. Skipped where `git lfs` is missing; fails there in CI. */
export default defineConfig({
  test: {
    include: ['test/e2e/**/*.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 60_000,
    fileParallelism: false,
  },
});
