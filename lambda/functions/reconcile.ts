import { allThose } from '../core/rules/lists.ts';
import { createMultiparts } from '../core/store/multiparts.ts';
import { createTextFiles } from '../core/store/object-store.ts';
import { storesOf } from '../core/table/stores.ts';
import { warmUpScan } from '../frame/aws/function.ts';
import { deployedConsumer } from '../frame/aws/sqs-consumer.ts';
import { create } from '../frame/work/reconcile.ts';
import * as claims from '../lists/claims.ts';
import * as reconciles from '../lists/reconciles.ts';
import * as stores from '../lists/stores.ts';
import { bucketClient, heard, objectStore, queue, redelivery, scanning, table } from '../parts.ts';
import { seamsOf } from '../subjects.ts';

export function reconcileDeps() {
  const [client, tables] = [bucketClient(), table()];
  const deps = {
    ...heard(tables),
    ...scanning(client),
    store: objectStore(client),
    ...storesOf(allThose(reconciles, 'stores'), tables),
    ...storesOf(allThose(claims, 'stores'), tables),
    archives: { ...createTextFiles({ client }), ...createMultiparts({ client }) },
    queue: queue(),
    failures: stores.failures(tables),
    redelivery: redelivery('LFS_QUOTA_QUEUE_URL'),
  };
  return { ...deps, ...seamsOf(deps) };
}

export const handler = await deployedConsumer(create, reconcileDeps, warmUpScan);
