import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startStore } from '../../local/store/start-store.ts';
import { MemoryObjectStore } from '../support/memory/object-store.ts';
import { objectStoreContract } from './object-store.contract.ts';
import { openS3Target } from './s3-target.ts';

objectStoreContract('in memory', {
  open: async () => {
    const memory = new MemoryObjectStore();
    return {
      store: memory,
      listing: memory,
      put: async (key, body) => memory.put(key, body.length),
      stop: async () => {},
    };
  },
  skips: { urls: 'it has no network' },
});

objectStoreContract('the local store', {
  open: async () => {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'store-contract-'));
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local-secret' };
    const running = await startStore({ port: 0, dataDir, bucket: 'objects', credentials });
    return await openS3Target({
      endpoint: running.url,
      bucket: 'objects',
      credentials,
      stop: async () => {
        await running.close();
        await rm(dataDir, { recursive: true });
      },
    });
  },
});
