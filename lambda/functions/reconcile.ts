import { createTextFiles } from '../core/store/object-store.ts';
import { warmUpScan } from '../frame/aws/function.ts';
import { deployedConsumer } from '../frame/aws/sqs-consumer.ts';
import { create } from '../frame/work/reconcile.ts';
import * as reconciles from '../lists/reconciles.ts';
import * as stores from '../lists/stores.ts';
import * as workStores from '../lists/work-stores.ts';
import { bucketClient, heard, objectStore, queue, redelivery, scanning, table } from '../parts.ts';
import { storesOf } from '../stores.ts';
import { allThose, seamsOf } from '../subjects.ts';

export function reconcileDeps() {
  const [client, tables] = [bucketClient(), table()];
  const deps = {
    ...heard(tables),
    ...scanning(client),
    store: objectStore(client),
    ...storesOf(allThose(reconciles, 'stores'), tables),
    ...storesOf(workStores, tables),
    archives: createTextFiles({ client }),
    queue: queue(),
    failures: stores.failures(tables),
    redelivery: redelivery('LFS_QUOTA_QUEUE_URL'),
  };
  return { ...deps, ...seamsOf(deps) };
}

export const handler = await deployedConsumer(create, reconcileDeps, warmUpScan);
