import { markHeapAtOnce } from '../../frame/aws/deployed.ts';
import { deployedConsumer } from '../../frame/aws/sqs-consumer.ts';
import * as stores from '../../lists/stores.ts';
import {
  archiveStore,
  bucketPlace,
  common,
  jobQueue,
  queue,
  redelivery,
  storageClasses,
  table,
} from '../../parts.ts';
import { create } from '../../subjects/chunks/assemble-handler.ts';
import { chunkedUploads } from '../../subjects/chunks/stores.ts';

export function assembleDeps() {
  const [place, tables] = [bucketPlace(), table()];
  return {
    ...common(),
    redelivery: redelivery('LFS_QUOTA_CHUNK_QUEUE_URL'),
    archives: archiveStore(place),
    ledger: stores.ledger(tables),
    chunkedUploads: chunkedUploads(tables),
    chunkQueue: jobQueue('Chunk'),
    storageClasses: storageClasses(),
    queue: queue(),
  };
}

export const handler = await deployedConsumer(create, assembleDeps, markHeapAtOnce);
