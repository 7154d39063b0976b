import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { nameLayouts } from '../../lambda/core/store/rules/adopted-repos.ts';
import { startStore } from '../../local/store/start-store.ts';
import { MemoryObjectStore } from '../support/memory/object-store.ts';
import { adoptedPrefix, adoptedTarget, oidNames } from './adopted-target.ts';
import { objectStoreContract } from './object-store.contract.ts';
import { openS3Target } from './s3-target.ts';

objectStoreContract('in memory', {
  open: async () => {
    const memory = new MemoryObjectStore();
    return {
      store: memory,
      listing: memory,
      put: async (key, body) => memory.put(key, body.length, undefined, Date.now()),
      stop: async () => {},
    };
  },
  skips: { urls: 'it has no network', multipart: 'the product uploads nothing in parts' },
});

async function openLocalStore() {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'store-contract-'));
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local-secret' };
  const running = await startStore({ port: 0, dataDir, bucket: 'objects', credentials });
  const target = openS3Target({
    endpoint: running.url,
    bucket: 'objects',
    credentials,
    stop: async () => {
      await running.close();
      await rm(dataDir, { recursive: true });
    },
  });
  return { running, target };
}

objectStoreContract('the local store', { open: async () => (await openLocalStore()).target });

objectStoreContract('the local store, asked for objects within its process', {
  open: async () => {
    const { running, target } = await openLocalStore();
    const { store } = target;
    return {
      ...target,
      store: {
        ...store,
        head: async (key) => running.head(key),
      },
    };
  },
  skips: {
    listing: 'it is that of the local store',
    multipart: 'they are those of the local store',
  },
});

for (const names of nameLayouts)
  objectStoreContract(`the local store, in which repos of ${names} are adopted`, {
    open: async () => adoptedTarget((await openLocalStore()).target, names),
    prefixOf: adoptedPrefix,
    names: oidNames,
    skips: {
      folders: 'an adopted repo has none',
      keyBesideFolder: 'an adopted repo has no folders',
      multipart: 'they are those of the local store',
      ...(names !== 'ab/cd/rest' && { urls: 'they are signed as those of ab/cd/rest' }),
    },
  });
