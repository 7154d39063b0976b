import { randomBytes } from 'node:crypto';
import { archiveStoreContract } from '../contract/archive-store.contract.ts';
import { objectStoreContract } from '../contract/object-store.contract.ts';
import { openS3Archives } from '../contract/s3-archives.ts';
import { openS3Target } from '../contract/s3-target.ts';
import { describeOn } from './engine.ts';
import { engineCredentials, versitygw } from './s3.ts';

describeOn(versitygw, (endpoint) => {
  objectStoreContract('versitygw', {
    open: () =>
      openS3Target({
        endpoint,
        bucket: `contract-${randomBytes(6).toString('hex')}`,
        credentials: engineCredentials(),
        stop: async () => {},
      }),
    skips: {
      keyBesideFolder: 'its objects are files, and a file cannot also be a folder',
      controlCharacters: 'it ignores encoding-type=url, and XML cannot contain them',
      rangeChecksum: 'it gives a range the checksum of the whole source, if that has one',
    },
  });

  archiveStoreContract('versitygw', () =>
    openS3Archives({
      endpoint,
      bucket: `archives-${randomBytes(6).toString('hex')}`,
      credentials: engineCredentials(),
      stop: async () => {},
    }),
  );
});
