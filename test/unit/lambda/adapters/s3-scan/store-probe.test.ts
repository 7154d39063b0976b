import { expect, it } from 'vitest';
import { createStoreProbe } from '../../../../../lambda/adapters/s3-scan/store-probe.ts';
import type { ListPageRequest } from '../../../../../lambda/store/rules/store.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';

it('the probe of the store is one LIST of at most one key, below a name that no tenant has, within 6 s', async () => {
  const objects = new MemoryObjectStore();
  const asked: ListPageRequest[] = [];
  const listing = {
    listPage: (request: ListPageRequest) => {
      asked.push(request);
      return objects.listPage(request);
    },
  };
  const place = { kind: 'external', endpoint: 'https://r2.example', bucket: 'b' } as const;
  const probe = createStoreProbe({ listing, clock: { nowMs: () => 1000 } }, place);
  expect(probe).toMatchObject(place);
  await probe.probe();
  expect(asked).toEqual([{ prefix: 'v1/', maxKeys: 1, deadlineMs: 7000 }]);
});
