import { allOf, allThose, those } from '../core/rules/lists.ts';
import { parseJson } from '../core/rules/text.ts';
import { ScanListing } from '../core/scan/list-objects.ts';
import { adoptedListing } from '../core/store/adopted.ts';
import type { BucketClient, S3Settings } from '../core/store/bucket-client.ts';
import { createTextFiles } from '../core/store/object-store.ts';
import { storesOf } from '../core/table/stores.ts';
import { deployed } from '../frame/aws/deployed.ts';
import { warmUpTable } from '../frame/aws/function.ts';
import { createSqsQueueGauge } from '../frame/aws/queue-gauge.ts';
import {
  createStoreProbe,
  type GaugedQueue,
  gaugedQueues,
  type QueueGauge,
} from '../frame/gauges/rules/gauges.ts';
import { frameOperations } from '../frame/management/frame-operations.ts';
import { answering } from '../frame/management/handler.ts';
import { repoOperations } from '../frame/management/repos.ts';
import * as claims from '../lists/claims.ts';
import * as listeners from '../lists/listeners.ts';
import * as management from '../lists/management.ts';
import * as stores from '../lists/stores.ts';
import {
  admin,
  adoptedRepos,
  bucketClient,
  bucketPlace,
  clock,
  common,
  jobQueues,
  limitContactUrl,
  objectStore,
  onlyNewProof,
  publicUrl,
  queue,
  quickSqs,
  required,
  storageClasses,
  table,
  urlSigner,
} from '../parts.ts';
import { repoContract } from '../repo-contract.ts';
import type { RouteKey } from '../routes.ts';
import { claimsOf, listenersOf, managementSeamsOf } from '../subjects.ts';
import * as parts from './needs/management.ts';

/** The operator's API. One function for all of it: it is asked rarely, and never in a hurry. */
export const create = answering<RouteKey<'management'>>()({
  ...those(management, 'operations'),
  frame: frameOperations,
  // With what subjects say of repos.
  repos: repoOperations(repoContract),
});

/** The store itself, whatever lies in it. Somebody waits for the answer. */
function storeProbe(client: BucketClient, { bucket, endpoint }: S3Settings) {
  const listing = new ScanListing({ client, retry: { attemptsMax: 2 } });
  const kind = endpoint === undefined ? 's3' : 'external';
  return createStoreProbe({ listing, clock }, { kind, endpoint: endpoint ?? null, bucket });
}

/**
 * The queues that the operator can look at, each with its dead letters: `{"reconciles": [name, name], …}`. Their URLs differ by
 * the name, and an environment has 4 kB.
 */
function queueGauges(): QueueGauge[] {
  const base = required('LFS_QUOTA_QUEUE_URL').replace(/[^/]*$/, '');
  const names = parseJson(required('LFS_QUOTA_GAUGED_QUEUES')) as Partial<
    Record<GaugedQueue, [string, string]>
  >;
  const client = quickSqs();
  return gaugedQueues.flatMap((queue) => {
    const [queueUrl, deadLetterUrl] = (names[queue] ?? []).map((name) => base + name);
    if (queueUrl === undefined || deadLetterUrl === undefined) return [];
    return [createSqsQueueGauge({ client, queue, queueUrl, deadLetterUrl })];
  });
}

const noMetrics = {
  metrics: { increment: () => undefined, measure: () => undefined, flush: () => undefined },
};

export function managementDeps() {
  const [tables, place] = [table(), bucketPlace()];
  const own = {
    ...stores,
    ...allThose(management, 'stores'),
    ...allThose(claims, 'stores'),
    ...allThose(listeners, 'stores'),
  };
  const kept = storesOf(own, tables);
  const client = bucketClient(place);
  const deps = {
    ...common(),
    ...kept,
    publicUrl: publicUrl(),
    limitContactUrl: limitContactUrl(),
    // Somebody waits, and no scan is under way that would have to begin again.
    listing: adoptedListing(new ScanListing({ client, retry: { attemptsMax: 4 } }), adoptedRepos()),
    adoptedRepos: adoptedRepos(),
    store: objectStore(client),
    proveOnlyNew: onlyNewProof(place, client),
    claims: claimsOf({ clock, ...kept }),
    ...jobQueues(),
    ...allOf(parts, {}),
    admin: admin(),
    queue: queue(),
    archives: createTextFiles({ client }),
    signer: urlSigner(place),
    storageClasses: storageClasses(),
    queueGauges: queueGauges(),
    storeProbe: storeProbe(client, place),
  };
  return {
    ...deps,
    ...managementSeamsOf(deps),
    // It only changes limits: nothing that is counted.
    listeners: listenersOf({ ...deps, ...noMetrics }),
  };
}

export const handler = await deployed(create, managementDeps, warmUpTable);
