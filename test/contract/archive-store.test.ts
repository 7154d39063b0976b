import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startStore } from '../../local/store/start-store.ts';
import { MemoryArchiveStore } from '../support/memory/archive-store.ts';
import { archiveStoreContract } from './archive-store.contract.ts';
import { openS3Archives } from './s3-archives.ts';

archiveStoreContract('in memory', async () => {
  const partBytesMin = 64;
  const store = new MemoryArchiveStore({ limits: { partBytesMin }, pageSize: 3 });
  return { store, partBytesMin, stop: async () => {} };
});

archiveStoreContract('the local store', async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'archive-contract-'));
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local-secret' };
  const running = await startStore({ port: 0, dataDir, bucket: 'objects', credentials });
  return await openS3Archives({
    endpoint: running.url,
    bucket: 'objects',
    credentials,
    stop: async () => {
      await running.close();
      await rm(dataDir, { recursive: true });
    },
  });
});
