import type { FunctionPorts } from '../core/rules/clock-and-log.ts';
import { parseJson } from '../core/rules/text.ts';
import type { UnionToIntersection } from '../core/rules/types.ts';
import { ScanListing } from '../core/scan/list-objects.ts';
import { adoptedListing } from '../core/store/adopted.ts';
import type { BucketClient, S3Settings } from '../core/store/bucket-client.ts';
import { createTextFiles } from '../core/store/object-store.ts';
import { problem, respondProblem } from '../frame/api/problems.ts';
import { deployed } from '../frame/aws/deployed.ts';
import { guard, type HttpHandler, warmUpTable } from '../frame/aws/function.ts';
import type { Operation } from '../frame/management/operations.ts';
import { repoOperations } from '../frame/management/repos.ts';
import * as lists from '../lists/operations.ts';
import { repoContract } from '../repo-contract.ts';
import type { RouteKey } from '../routes.ts';
import { storesOn } from '../stores.ts';
import { isWebhookUrl } from '../subjects/alerts/rules/webhook-delivery.ts';
import { alertsOfLimits } from '../subjects/alerts/seams.ts';
import { chunkClaims } from '../subjects/chunks/seams.ts';
import { createSqsQueueGauge } from '../subjects/status/queue-gauge.ts';
import { type GaugedQueue, gaugedQueues, type QueueGauge } from '../subjects/status/rules/status.ts';
import { createStoreProbe } from '../subjects/status/status.ts';
import { managementSeamsOf } from '../subjects.ts';
import {
  admin,
  adoptedRepos,
  bucketClient,
  bucketPlace,
  clock,
  common,
  emailQueue,
  exportsOfDeployment,
  gitHosts,
  issuers,
  limitContactUrl,
  objectStore,
  publicUrl,
  queue,
  quickSqs,
  required,
  storageClasses,
  table,
  urlSigner,
  webhookQueue,
} from './parts.ts';

/** Those of repos with what subjects say of them. */
const all = { ...lists, repos: repoOperations(repoContract) };
type All = typeof all;

/** All that one of them needs. */
type Needs = UnionToIntersection<NeedsOf<All[keyof All]>>;
type NeedsOf<Operations> = Operations extends unknown
  ? { [K in keyof Operations]: Operations[K] extends Operation<infer D> ? D : never }[keyof Operations]
  : never;
/** The type makes the compiler check that each route has its operation. */
const operations: Readonly<Record<RouteKey<'management'>, Operation<Needs>>> = Object.assign(
  {},
  ...Object.values(all),
) as UnionToIntersection<All[keyof All]>;
const byRouteKey: ReadonlyMap<string, Operation<Needs>> = new Map(Object.entries(operations));

/** The operator's API. One function for all of it: it is asked rarely, and never in a hurry. */
export function create(deps: Needs & FunctionPorts): HttpHandler {
  return guard(deps, respondProblem, async (event) => {
    const operation = byRouteKey.get(event.routeKey);
    return operation ? operation(deps, event) : problem('not-found', 'Route not found.');
  });
}

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

export function managementDeps() {
  const [stores, place] = [storesOn(table()), bucketPlace()];
  const client = bucketClient(place);
  const deps = {
    ...common(),
    ...stores,
    publicUrl: publicUrl(),
    limitContactUrl: limitContactUrl(),
    // Somebody waits, and no scan is under way that would have to begin again.
    listing: adoptedListing(new ScanListing({ client, retry: { attemptsMax: 4 } }), adoptedRepos()),
    adoptedRepos: adoptedRepos(),
    store: objectStore(client),
    claims: chunkClaims({ clock, ...stores }),
    webhookQueue: webhookQueue(),
    emailQueue: emailQueue(),
    webhookUrls: (url: string) => isWebhookUrl(url),
    issuers: issuers(),
    gitHosts: gitHosts(),
    admin: admin(),
    queue: queue(),
    ...exportsOfDeployment(),
    archives: createTextFiles({ client }),
    signer: urlSigner(place),
    storageClasses: storageClasses(),
    queueGauges: queueGauges(),
    storeProbe: storeProbe(client, place),
  };
  return {
    ...deps,
    ...managementSeamsOf(deps),
    listeners: [alertsOfLimits(deps)],
  };
}

export const handler = await deployed(create, managementDeps, warmUpTable);
