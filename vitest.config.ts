import { defineConfig } from 'vitest/config';
import { reporting } from './test/reporting.ts';

/** What `npm test` runs: everything that needs nothing but Node. */
export default defineConfig({
  test: {
    ...reporting(),
    include: ['test/{unit,contract,stack,simulation,embedded}/**/*.test.ts'],
    testTimeout: 30_000,
    // The CDK's own validator takes seconds a template; `npm run synth` keeps it.
    // The SDK's warning of Node 20 would stand above every test.
    env: { CDK_VALIDATION: 'false', AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
  },
});
