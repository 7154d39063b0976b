import { randomUUID } from 'node:crypto';
import { it } from 'vitest';
import { startEmbeddedStack } from '../../../../local/start.ts';
import { Api } from '../../../blackbox/api.ts';
import { sendInParts, smallParts } from '../../../blackbox/subjects/files/parts.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';
import { describeOn } from '../../engine.ts';
import { createBucket, versitygw } from '../../s3.ts';

const adminToken = 'admin-token-of-the-parts-0123456789';

describeOn(versitygw, (endpoint) => {
  const tempFolder = useTempFolders();

  it('a file that one PUT cannot carry arrives in parts, byte for byte, and is counted', async () => {
    const { bucket, credentials } = await createBucket(endpoint, `parts-${randomUUID()}`);
    const place = { forcePathStyle: true, region: 'us-east-1', endpoint, bucket } as const;
    const stack = await startEmbeddedStack({
      port: 0,
      dataDir: tempFolder(),
      adminToken,
      log: recordingLog().log,
      ...smallParts,
      store: { kind: 'external', exportsAs: 'stream', ...place, credentials: async () => credentials },
    });
    try {
      await sendInParts(new Api({ url: stack.url, adminToken }));
    } finally {
      await stack.close();
    }
  });
});
