import { describe, expect, it } from 'vitest';
import { blackboxSuite } from '../blackbox/suite.ts';

/** A server of the image, which .ci/image.sh runs. */
const { SERVE_URL: url = '', SERVE_ADMIN_TOKEN: adminToken = '' } = process.env;

describe.skipIf(url === '')('the image as its clients see it', () => {
  blackboxSuite(() => ({ url, adminToken }));

  it('serves the console', async () => {
    expect(await (await fetch(url)).text()).toContain('<title>lfs-quota</title>');
  });
});
