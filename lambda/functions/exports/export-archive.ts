import { ScanListing } from '../../core/scan/list-objects.ts';
import { adoptedListing } from '../../core/store/adopted.ts';
import { markHeapAtOnce } from '../../frame/aws/deployed.ts';
import { deployedConsumer } from '../../frame/aws/sqs-consumer.ts';
import * as stores from '../../lists/stores.ts';
import {
  adoptedRepos,
  archiveStore,
  bucketClient,
  bucketPlace,
  common,
  jobQueue,
  objectStore,
  redelivery,
  table,
} from '../../parts.ts';
import { create } from '../../subjects/exports/handler.ts';
import { exportJobs } from '../../subjects/exports/stores.ts';
import { stageExports } from './parts.ts';

export function exportDeps() {
  const [place, tables] = [bucketPlace(), table()];
  const client = bucketClient(place);
  return {
    ...common(),
    ledger: stores.ledger(tables),
    store: objectStore(client),
    redelivery: redelivery('LFS_QUOTA_EXPORT_QUEUE_URL'),
    listing: adoptedListing(new ScanListing({ client }), adoptedRepos()),
    archives: archiveStore(place),
    exportJobs: exportJobs(tables),
    failures: stores.failures(tables),
    exportQueue: jobQueue('Export'),
    ...stageExports(),
  };
}

export const handler = await deployedConsumer(create, exportDeps, markHeapAtOnce);
