import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongFilesFirst } from './test/support/long-files-first.ts';
import { reporting } from './test/support/reporting.ts';

/** vitest leaves one core idle, on two cores half of them. Many tests wait for servers, so they leave enough idle. */
const maxWorkers = Math.max(2, availableParallelism() - 1);

/** The order of the tests in a file of `embedded`: any number. Without one, they run as they are written. */
const seed = process.env['SHUFFLE'];

/** As `lane_limit` in .ci/run. */
const laneTimeout = 45 * 60_000;

/** A server does a moment later what it was asked. */
const patient = { expect: { poll: { timeout: 120_000 } } };

/** What needs nothing but Node. A test fails by being wrong, not by a busy machine: the lane has a time limit (.ci/run). */
const onNode = {
  testTimeout: laneTimeout,
  hookTimeout: laneTimeout,
  ...patient,
  setupFiles: ['./test/support/fixed-seed.ts'],
  maxWorkers,
  // The CDK's own validator takes seconds for each template; `npm run synth` keeps it on.
  // The SDK warns about Node 20 above every test.
  env: { CDK_VALIDATION: 'false', AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
};

/**
 * `npm test` runs `unit`, `npm run test:rest` the other projects that need nothing but Node. The rest are a lane each, and need
 * an engine or a client. Without it they are skipped and say so; with `CI` set they fail (CONTRIBUTING.md).
 *
 * Projects with different limits on their workers need a group each: vitest runs the groups one after the other.
 */
export default defineConfig({
  test: {
    ...reporting(),
    // What vite makes of a file is kept for the next run, by its content: a tenth of what `npm test` takes.
    experimental: { fsModuleCache: true, fsModuleCachePath: '.cache/vitest' },
    sequence: { sequencer: LongFilesFirst, ...(seed !== undefined && { seed: Number(seed) }) },
    projects: [
      {
        // A process for many files: one for each costs 0.35 s of CPU before its first test. So no test may leave anything
        // behind that another file sees.
        test: {
          ...onNode,
          name: 'unit',
          include: ['test/{unit,contract,without}/**/*.test.ts'],
          exclude: ['**/*.long.test.ts'],
          isolate: false,
        },
      },
      {
        // Random histories, kills, real waits: what takes seconds of CPU.
        test: {
          ...onNode,
          name: 'long',
          include: ['test/simulation/**/*.test.ts', 'test/{unit,contract}/**/*.long.test.ts'],
        },
      },
      {
        test: {
          ...onNode,
          name: 'embedded',
          include: ['test/embedded/**/*.test.ts'],
          // No test needs what another one has done.
          sequence: { shuffle: { tests: seed !== undefined } },
        },
      },
      {
        // A process for many files: each would load the CDK, and make its templates anew.
        test: { ...onNode, name: 'stack', include: ['test/stack/**/*.test.ts'], isolate: false },
      },
      {
        // The contract suites against DynamoDB Local and versitygw: .ci/engines.sh starts them.
        test: {
          ...patient,
          name: 'engines',
          include: ['test/engines/**/*.test.ts'],
          testTimeout: 60_000,
          maxWorkers,
        },
      },
      {
        // Requests made from /openapi.json: .ci/api.sh fetches what makes them.
        test: {
          name: 'api',
          include: ['test/api/**/*.test.ts'],
          testTimeout: 60 * 60_000,
          hookTimeout: 60_000,
          maxWorkers,
        },
      },
      {
        // Clients other than git-lfs against the embedded stack: .ci/clients.sh fetches them.
        test: {
          name: 'clients',
          include: ['test/clients/**/*.test.ts'],
          testTimeout: laneTimeout,
          hookTimeout: laneTimeout,
          maxWorkers,
        },
      },
      {
        // The console in a browser, against the embedded stack.
        test: {
          name: 'console',
          include: ['test/console/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // A browser on a busy machine may be late. What passes at the second try only is named (FLAKY).
          retry: process.env['CI'] ? 1 : 0,
          // A page shows what somebody did a moment later.
          expect: { poll: { timeout: 10_000 } },
          maxWorkers,
        },
      },
      {
        // The real git-lfs client against the embedded stack.
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: laneTimeout,
          hookTimeout: laneTimeout,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // The real git-lfs through nginx and Caddy, with the files of packaging/. Each test sends 70 MB and restarts a server.
        test: {
          name: 'proxies',
          include: ['test/proxies/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      {
        // A server of the image: .ci/image.sh builds and starts it.
        test: {
          ...patient,
          name: 'image',
          include: ['test/image/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          maxWorkers,
        },
      },
      {
        // `cdk deploy` to an emulated AWS, and the bundles under the Lambda runtime emulator: .ci/deployed.sh.
        test: {
          ...patient,
          name: 'deployed',
          include: ['test/deployed/**/*.test.ts'],
          setupFiles: ['./test/support/fixed-seed.ts'],
          testTimeout: laneTimeout,
          hookTimeout: laneTimeout,
          // The tests mostly wait for queues and schedules. Each file has its own emulator.
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
          // Each test builds on the one before it.
          bail: 1,
        },
      },
    ],
  },
});
