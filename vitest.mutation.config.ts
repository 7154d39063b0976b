import { defineConfig } from 'vitest/config';

/** When the table may remove what any of the stores has written. */
const keptFor = 'test/unit/lambda/core/table/kept-for.test.ts';

/**
 * The tests that must catch a mistake in a layer of the ledger: CONTRIBUTING.md. They are few and fast, because they run
 * for each of thousands of mistakes.
 */
const suites: Readonly<Record<string, readonly string[]>> = {
  domain: ['test/unit/lambda/core/rules/*.test.ts'],
  ledger: ['test/unit/lambda/core/ledger/{,rules/}*.test.ts', 'test/contract/ledger.test.ts'],
  plans: ['test/unit/lambda/subjects/exports/rules/*.test.ts'],
  gc: ['test/unit/lambda/subjects/gc/{,rules/}*.test.ts', keptFor],
  scan: ['test/unit/lambda/core/scan/{,rules/}*.test.ts'],
  exports: ['test/unit/lambda/subjects/exports/*.test.ts', keptFor],
  access: [
    'test/unit/lambda/{frame/access,subjects/{ci,hosts,invitations,sign-in}}/{,rules/}*.test.ts',
    // Who may read without a token, by a link of the tenant.
    'test/unit/lambda/subjects/downloads/tenant-links.test.ts',
    keptFor,
  ],
  small: [
    // All others, so that a new subject is among them.
    'test/unit/lambda/subjects/!(chunks|ci|exports|gc|hosts|invitations|lfs|sign-in)/{,rules/,lfs/}*.test.ts',
    keptFor,
  ],
  adopted: ['test/unit/lambda/core/store/{adopted*,rules/*}.test.ts'],
  // How requests are made of clauses and pages: by their own tests, without a table.
  requests: [
    'test/unit/lambda/{core/{table/{expressions,requests,stores},ledger/{reads,writes}},frame/access/other-reads}.test.ts',
  ],
};

export default defineConfig({
  test: {
    include: [...(suites[process.env['MUTATED_LAYER'] ?? ''] ?? [])],
    // Thousands of objects, or of orders of events, in every test.
    exclude: [
      'many-reservations',
      'many-repos',
      'full-shards',
      'busy-tenant',
      'bucket-shapes',
      'store-events-convergence',
      // Exports, each with a kill or with steps at the same time.
      'kills',
      'steps-at-once',
    ].map((name) => `**/${name}{,.long}.test.ts`),
    // For the first run of all tests, on a busy machine. A mistake has a limit of its own: .ci/stryker.json.
    isolate: false,
    testTimeout: 60_000,
    env: { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
  },
});
