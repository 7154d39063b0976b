import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { type EmbeddedStack, startEmbeddedStack } from '../../../../local/start.ts';
import { Api } from '../../../blackbox/api.ts';
import { holeTests } from '../../../blackbox/subjects/files/holes.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';
import { describeOn } from '../../engine.ts';
import { createBucket, versitygw } from '../../s3.ts';

const adminToken = 'admin-token-of-the-holes-0123456789';

/** What a limit of files rests on, a store must keep by itself: {@link holeTests} asks one of others. */
describeOn(versitygw, (endpoint) => {
  const tempFolder = useTempFolders();
  let stack: EmbeddedStack;

  beforeAll(async () => {
    const { bucket, credentials } = await createBucket(endpoint, `holes-${randomUUID()}`);
    stack = await startEmbeddedStack({
      port: 0,
      dataDir: tempFolder(),
      adminToken,
      log: recordingLog().log,
      queueTiming: { quietMs: 500, quietMaxMs: 1_000, spacingMs: 500 },
      store: {
        kind: 'external',
        exportsAs: 'stream',
        forcePathStyle: true,
        region: 'us-east-1',
        endpoint,
        bucket,
        credentials: async () => credentials,
      },
    });
  });
  afterAll(() => stack?.close());

  holeTests(() => new Api({ url: stack.url, adminToken }));
});
