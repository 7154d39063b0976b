import { randomBytes } from 'node:crypto';
import { describe, test } from 'vitest';
import { objectStoreContract } from '../contract/object-store.contract.ts';
import { openS3Target } from '../contract/s3-target.ts';

const endpoint = process.env['ENGINE_S3_URL'];
const accessKeyId = process.env['ENGINE_S3_ACCESS_KEY'];
const secretAccessKey = process.env['ENGINE_S3_SECRET_KEY'];
const missing = 'set ENGINE_S3_URL, ENGINE_S3_ACCESS_KEY and ENGINE_S3_SECRET_KEY to a running versitygw';

if (endpoint !== undefined && accessKeyId !== undefined && secretAccessKey !== undefined) {
  objectStoreContract('versitygw', {
    open: () =>
      openS3Target({
        endpoint,
        bucket: `contract-${randomBytes(6).toString('hex')}`,
        credentials: { accessKeyId, secretAccessKey },
        stop: async () => {},
      }),
    skips: {
      keyBesideFolder: 'its objects are files, and a file is no folder',
      controlCharacters: 'it ignores encoding-type=url, and XML cannot hold them',
    },
  });
} else if (process.env['CI'] === undefined) {
  describe.skip(`object store contract: versitygw (${missing})`, () => {
    test('is not running', () => {});
  });
} else {
  test('object store contract: versitygw', () => {
    throw new Error(`The engine is missing: ${missing}.`);
  });
}
