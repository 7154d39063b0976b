import { randomBytes } from 'node:crypto';
import { archiveStoreContract } from '../contract/archive-store.contract.ts';
import { objectStoreContract } from '../contract/object-store.contract.ts';
import { openS3Archives } from '../contract/s3-archives.ts';
import { openS3Target } from '../contract/s3-target.ts';
import { describeOn } from './engine.ts';
import { createBucket, versitygw } from './s3.ts';

describeOn(versitygw, (endpoint) => {
  objectStoreContract('versitygw', {
    open: async () =>
      openS3Target({
        ...(await createBucket(endpoint, `contract-${randomBytes(6).toString('hex')}`)),
        stop: async () => {},
      }),
    skips: {
      keyBesideFolder: 'its objects are files, and a file cannot also be a folder',
      controlCharacters: 'it ignores encoding-type=url, and XML cannot contain them',
      conditions: {
        'If-Modified-Since: its time': 'it compares fractions of a second, which it tells nobody',
        'If-Unmodified-Since: its time': 'it compares fractions of a second, which it tells nobody',
        'If-Range: another ETag': 'it ignores If-Range',
        'If-Range: a weak ETag': 'it ignores If-Range',
        'If-Range: a time before': 'it ignores If-Range',
      },
    },
  });

  for (const withoutSdk of [false, true])
    archiveStoreContract(`versitygw${withoutSdk ? ', without the SDK' : ''}`, async () =>
      openS3Archives({
        ...(await createBucket(endpoint, `archives-${randomBytes(6).toString('hex')}`)),
        stop: async () => {},
        withoutSdk,
      }),
    );
});
