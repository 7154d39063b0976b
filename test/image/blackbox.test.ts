import { describe, expect, it } from 'vitest';
import { blackboxSuite } from '../blackbox/suite.ts';

/** A server of the image, which .ci/image.sh runs, or one whose objects are elsewhere: .ci/served.sh. */
const {
  SERVE_URL: url = '',
  SERVE_ADMIN_TOKEN: adminToken = '',
  SERVE_SCANNED_WITHIN_MS: scannedWithin,
} = process.env;
const patience = scannedWithin === undefined ? {} : { scannedWithinMs: Number(scannedWithin) };

describe.skipIf(url === '')('the image as its clients see it', () => {
  blackboxSuite(() => ({ url, adminToken, ...patience }));

  it('serves the console', async () => {
    expect(await (await fetch(url)).text()).toContain('<title>lfs-quota</title>');
  });
});
