import type { SwitchedQueue } from './core/rules/jobs.ts';
import { allThose } from './core/rules/lists.ts';
import { serviceName } from './core/rules/metrics.ts';
import { settingsFromJson } from './core/rules/settings.ts';
import { type UnionToIntersection, valuesOf } from './core/rules/types.ts';
import { ScanListing } from './core/scan/list-objects.ts';
import { createPathScan } from './core/scan/path-scan.ts';
import { adoptedArchives, adoptedListing, adoptedSigner, adoptedStore } from './core/store/adopted.ts';
import { ArchiveClient } from './core/store/archive-client.ts';
import { BucketClient, type S3Settings } from './core/store/bucket-client.ts';
import { cdnSigner } from './core/store/cdn.ts';
import { createObjectStore } from './core/store/object-store.ts';
import { onlyNewProver } from './core/store/only-new-proof.ts';
import { AdoptedRepos, adoptedReposFromJson } from './core/store/rules/adopted-repos.ts';
import { privateKeyIn } from './core/store/rules/cdn-keys.ts';
import type { FilePorts } from './core/store/rules/file-ports.ts';
import { storageClasses as everyClass, storageClassesIn } from './core/store/rules/storage-class.ts';
import { createArchiveStore } from './core/store/s3-archives.ts';
import { createUrlSigner } from './core/store/signing.ts';
import { createDynamoDb } from './core/table/client.ts';
import { storesOf } from './core/table/stores.ts';
import { systemClock, systemIds } from './frame/aws/clock-and-ids.ts';
import { roleCredentials } from './frame/aws/function-environment.ts';
import { createInvocationLog, createInvocations } from './frame/aws/invocation-log.ts';
import { createPowertoolsLog, createPowertoolsMetrics } from './frame/aws/powertools.ts';
import {
  createAdminSecret,
  createSecret,
  createSecretsClient,
  storeCredentials,
} from './frame/aws/secrets.ts';
import {
  createSqsClient,
  createSqsJobQueue,
  createSqsReconcileQueue,
  createSqsRedelivery,
  quickLimits,
} from './frame/aws/sqs.ts';
import * as listeners from './lists/listeners.ts';
import * as queues from './lists/queues.ts';
import * as stores from './lists/stores.ts';

/**
 * Composes each deployed function's dependencies from its environment, once per container. Each function gets only
 * what it may use, so the bundler leaves out the rest. If a variable is missing, the container does not start.
 */

/**
 * Settings of the stage as JSON. The bundler puts them in place of these names (lib/functions/functions.ts): they change
 * with the code, at once, and may be longer than an environment. Undefined: the default.
 */
declare const stageJson: {
  readonly protocol: string | undefined;
  readonly adoptedRepos: string | undefined;
  readonly limitContactUrl: string | undefined;
  readonly storageClasses: string | undefined;
};

export const clock = systemClock;

const ids = systemIds;

const invocations = createInvocations({ firstIsCold: true });

/**
 * A function that can't read them doesn't start: none may run with other settings than the rest of the stage. The
 * embedded stack only imports this file, and has none.
 */
const settings = () => settingsFromJson(stageJson.protocol);

export const adoptedRepos = () => new AdoptedRepos(adoptedReposFromJson(stageJson.adoptedRepos));

export const storageClasses = () => storageClassesIn(stageJson.storageClasses ?? everyClass.join()) ?? [];

export function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`The environment variable ${name} isn't set.`);
  return value;
}

export function optional(name: string): string | undefined {
  return process.env[name] || undefined;
}

const log = () => createInvocationLog(createPowertoolsLog(), invocations);

export const common = () => ({ clock, ids, settings: settings(), invocations, log: log() });

const metrics = () =>
  createPowertoolsMetrics({
    namespace: optional('POWERTOOLS_METRICS_NAMESPACE') ?? serviceName,
    invocations,
  });

/** The ledger's table, and the client with its connections. A function has one. */
export function table() {
  return { client: createDynamoDb(), tableName: required('LFS_QUOTA_TABLE') };
}

/** A function's queues share a client for what is sent, and another for what can't wait long. */
const sqs = once(() => createSqsClient());

export const quickSqs = once(() => createSqsClient(quickLimits));

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

const queueAt = (queueUrl: string) => ({ client: sqs(), queueUrl, clock, invocations });

export const queue = () => createSqsReconcileQueue(queueAt(required('LFS_QUOTA_QUEUE_URL')));

/** When a message of the function's own queue comes again. */
export const redelivery = (variable: string) =>
  createSqsRedelivery({ client: quickSqs(), queueUrl: required(variable) });

/** A queue of jobs, by the kind in its spec. It's off where the stage, or the function, has none. */
export function jobQueue(kind: string): SwitchedQueue<object> {
  const queueUrl = optional(`LFS_QUOTA_${kind.toUpperCase()}_QUEUE_URL`);
  if (queueUrl === undefined)
    return { isOn: false, send: () => Promise.reject(new Error(`This function has no queue ${kind}.`)) };
  return { isOn: true, ...createSqsJobQueue(queueAt(queueUrl)) };
}

type Kinds = UnionToIntersection<(typeof queues)[keyof typeof queues]>;

/** By their ports. @param kinds default: all that more than one function sends to. */
export const jobQueues = <K extends Readonly<Record<keyof K, string>> = Kinds>(
  kinds = Object.assign({}, ...valuesOf(queues)) as K,
) =>
  Object.fromEntries(Object.entries<string>(kinds).map(([port, kind]) => [port, jobQueue(kind)])) as Readonly<
    Record<keyof K, SwitchedQueue<object>>
  >;

/** How a secret is read. */
function secret(secretArn: string) {
  return { client: createSecretsClient(), secretArn, nowMs: clock.nowMs };
}

export const admin = () => createAdminSecret(secret(required('LFS_QUOTA_ADMIN_SECRET_ARN')));

/** Where the bucket is, and the credentials for it. */
export function bucketPlace(): S3Settings {
  const endpoint = optional('LFS_QUOTA_S3_ENDPOINT');
  const secretArn = optional('LFS_QUOTA_S3_CREDENTIALS_SECRET_ARN');
  return {
    bucket: required('LFS_QUOTA_BUCKET'),
    region: required('LFS_QUOTA_S3_REGION'),
    ...(endpoint && { endpoint, forcePathStyle: true }),
    credentials: secretArn ? storeCredentials(secret(secretArn)) : async () => roleCredentials(process.env),
  };
}

/** The bucket's client, with its connections. A function has one. */
export function bucketClient(place = bucketPlace()): BucketClient {
  return new BucketClient(reachable(place));
}

/** What stands in for S3, if something does, is reached in its place. URLs are signed for the bucket as clients reach it. */
const reachable = (place: S3Settings): S3Settings => {
  const endpoint = optional('AWS_ENDPOINT_URL_S3') ?? optional('AWS_ENDPOINT_URL');
  return { ...(endpoint && { endpoint }), ...place };
};

export const objectStore = (client: BucketClient) =>
  adoptedStore(createObjectStore({ client, clock }), adoptedRepos());

/**
 * What tells whether the store keeps what repos of files need. S3 does, as AWS says: of conditional writes "the first write operation
 * to finish succeeds" (docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html).
 */
export function onlyNewProof(place: S3Settings, client: BucketClient): FilePorts['proveOnlyNew'] {
  if (place.endpoint === undefined) return async () => ({ kind: 'holds' });
  const store = createObjectStore({ client, clock });
  return onlyNewProver({
    store,
    signer: createUrlSigner(place),
    listing: new ScanListing({ client }),
    clock,
    ids,
  });
}

export const archiveStore = (place: S3Settings) =>
  adoptedArchives(createArchiveStore({ client: new ArchiveClient(reachable(place)) }), adoptedRepos());

export const urlSigner = (place: S3Settings) => adoptedSigner(createUrlSigner(place), adoptedRepos());

/** Signs objects for the stage's CDN, if it has one. */
export function objectSigner(place: S3Settings) {
  const url = optional('LFS_QUOTA_CDN_URL');
  if (url === undefined) return urlSigner(place);
  const publicKey = required('LFS_QUOTA_CDN_PUBLIC_KEY');
  const key = createSecret(secret(required('LFS_QUOTA_CDN_SECRET_ARN')), (pem) =>
    privateKeyIn(pem, publicKey),
  );
  const cdn = { url, keyId: required('LFS_QUOTA_CDN_KEY_ID'), key };
  return adoptedSigner(cdnSigner(createUrlSigner(place), cdn), adoptedRepos());
}

export function scanning(client: BucketClient) {
  const listing = adoptedListing(new ScanListing({ client }), adoptedRepos());
  return { listing, scan: createPathScan({ listing, clock, settings: settings(), log: log() }) };
}

/** Where people ask the operator for a higher limit. */
export const limitContactUrl = () => stageJson.limitContactUrl;

/** Where clients reach the API, if something stands before it. */
export const publicUrl = () => optional('LFS_QUOTA_PUBLIC_URL');

/** The ledger, and what its listeners need. */
export const heard = (tables: ReturnType<typeof table>) => ({
  ...common(),
  metrics: metrics(),
  ledger: stores.ledger(tables),
  ...storesOf(allThose(listeners, 'stores'), tables),
});
