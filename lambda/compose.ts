import { createHostClient } from './accounts/git-hosts.ts';
import { createIdentityVerifier } from './accounts/identity-verifier.ts';
import { gitHostsFromJson, signInHostsOf } from './accounts/rules/git-hosts.ts';
import { KnownHostUsers } from './accounts/rules/host-user.ts';
import { issuersFromJson } from './accounts/rules/identities.ts';
import { accountTies } from './accounts/seams.ts';
import { createSignInHosts } from './accounts/sign-in-hosts.ts';
import type { EventBus } from './alerts/rules/alerts.ts';
import type { EmailMessage } from './alerts/rules/email.ts';
import { isWebhookUrl, type WebhookMessage } from './alerts/rules/webhook-delivery.ts';
import { alertsOfBatches, alertsOfCounts } from './alerts/seams.ts';
import { createWebhookSender } from './alerts/webhook-sender.ts';
import { systemClock, systemIds } from './aws/clock-and-ids.ts';
import { createEventBridge } from './aws/event-bus.ts';
import { createConsoleFiles, roleCredentials } from './aws/function-environment.ts';
import { createInvocationLog, createInvocations } from './aws/invocation-log.ts';
import { createPowertoolsLog, createPowertoolsMetrics } from './aws/powertools.ts';
import {
  createAdminSecret,
  createSecret,
  createSecretsClient,
  createTextSecret,
  storeCredentials,
} from './aws/secrets.ts';
import { createSesMailer } from './aws/ses.ts';
import {
  createSqsClient,
  createSqsMessageQueue,
  createSqsQueueGauge,
  createSqsReconcileQueue,
  createSqsRedelivery,
  quickLimits,
} from './aws/sqs.ts';
import type { ChunkMessage } from './chunks/messages.ts';
import { chunkClaims, chunkedWay } from './chunks/seams.ts';
import { createCopier } from './downloads/copier.ts';
import type { CopyMessage } from './downloads/messages.ts';
import type { ExportMessage, ExportQueue } from './exports/messages.ts';
import {
  type ExportSettings,
  type ExportStoreKind,
  exportSettingsFor,
  exportStoreKinds,
} from './exports/rules/settings.ts';
import { exportFailures, exportTies } from './exports/seams.ts';
import { historyOfBatches, historyOfCounts } from './history/seams.ts';
import { serviceName } from './rules/metrics.ts';
import { settingsFromJson } from './rules/settings.ts';
import { parseJson } from './rules/text.ts';
import { ScanListing } from './scan/list-objects.ts';
import { createPathScan } from './scan/path-scan.ts';
import { KnownObjects, ListingPace } from './scan/rules/known-objects.ts';
import { type GaugedQueue, gaugedQueues, type QueueGauge } from './status/rules/status.ts';
import { createStoreProbe } from './status/status.ts';
import { adoptedArchives, adoptedListing, adoptedSigner, adoptedStore } from './store/adopted.ts';
import { ArchiveClient } from './store/archive-client.ts';
import { BucketClient, type S3Settings } from './store/bucket-client.ts';
import { cdnSigner } from './store/cdn.ts';
import { createObjectStore, createTextFiles } from './store/object-store.ts';
import { AdoptedRepos, adoptedReposFromJson } from './store/rules/adopted-repos.ts';
import { privateKeyIn } from './store/rules/cdn-keys.ts';
import { storageClasses as everyClass, storageClassesIn } from './store/rules/storage-class.ts';
import { createArchiveStore } from './store/s3-archives.ts';
import { createUrlSigner } from './store/signing.ts';
import * as stores from './stores.ts';
import { seamsOf } from './subjects.ts';
import { createDynamoDb } from './table/client.ts';

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
  readonly identityIssuers: string | undefined;
  readonly gitHosts: string | undefined;
  readonly limitContactUrl: string | undefined;
  readonly storageClasses: string | undefined;
};

const clock = systemClock;
const ids = systemIds;
const invocations = createInvocations({ firstIsCold: true });
/**
 * A function that can't read them doesn't start: none may run with other settings than the rest of the stage. The
 * embedded stack only imports this file, and has none.
 */
const settings = () => settingsFromJson(stageJson.protocol);
const adoptedRepos = () => new AdoptedRepos(adoptedReposFromJson(stageJson.adoptedRepos));
const storageClasses = () => storageClassesIn(stageJson.storageClasses ?? everyClass.join()) ?? [];

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`The environment variable ${name} isn't set.`);
  return value;
}

function optional(name: string): string | undefined {
  return process.env[name] || undefined;
}

const log = () => createInvocationLog(createPowertoolsLog(), invocations);
const common = () => ({ clock, ids, settings: settings(), invocations, log: log() });
const metrics = () =>
  createPowertoolsMetrics({
    namespace: optional('POWERTOOLS_METRICS_NAMESPACE') ?? serviceName,
    invocations,
  });
const role = () => roleCredentials(process.env);

/** The ledger's table, and the client with its connections. A function has one. */
function table() {
  return { client: createDynamoDb(), tableName: required('LFS_QUOTA_TABLE') };
}

/** A function's queues share a client for what is sent, and another for what can't wait long. */
const sqs = once(() => createSqsClient());
const quickSqs = once(() => createSqsClient(quickLimits));

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

const queueAt = (queueUrl: string) => ({ client: sqs(), queueUrl, clock, invocations });

const queue = () => createSqsReconcileQueue(queueAt(required('LFS_QUOTA_QUEUE_URL')));

/** When a message of the function's own queue comes again. */
const redelivery = (variable: string) =>
  createSqsRedelivery({ client: quickSqs(), queueUrl: required(variable) });

/** How the stage makes exports. Without a queue it makes none. */
function exportsOfDeployment(): { exportQueue: ExportQueue; exportSettings: ExportSettings } {
  const queueUrl = optional('LFS_QUOTA_EXPORT_QUEUE_URL');
  if (queueUrl === undefined)
    return { exportQueue: noExports, exportSettings: exportSettingsFor('s3', { workers: 0 }) };
  const exportSettings = exportSettingsFor(exportStore(), {
    workers: count('LFS_QUOTA_EXPORT_WORKERS'),
    perTenantMax: count('LFS_QUOTA_EXPORT_PER_TENANT'),
    keepDays: count('LFS_QUOTA_EXPORT_KEEP_DAYS'),
  });
  const exportQueue = createSqsMessageQueue<ExportMessage>(queueAt(queueUrl));
  return { exportQueue, exportSettings };
}

const noExports: ExportQueue = {
  send: () => Promise.reject(new Error('This deployment makes no exports.')),
};

function exportStore(): ExportStoreKind {
  const name = required('LFS_QUOTA_EXPORT_STORE');
  const kind = exportStoreKinds.find((each) => each === name);
  if (kind === undefined) throw new Error(`The environment variable LFS_QUOTA_EXPORT_STORE is ${name}.`);
  return kind;
}

/** A whole number above 0. */
function count(name: string): number {
  const value = Number(required(name));
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`The environment variable ${name} must be a whole number above 0.`);
  return value;
}

/** The queue of chunked uploads. */
const chunkQueue = () => createSqsMessageQueue<ChunkMessage>(queueAt(required('LFS_QUOTA_CHUNK_QUEUE_URL')));

/** The queue of what is to be sent to webhooks. */
const webhookQueue = () =>
  createSqsMessageQueue<WebhookMessage>(queueAt(required('LFS_QUOTA_WEBHOOK_QUEUE_URL')));

/** A queue that not every stage has. Without it, nothing is done of what it's for. */
function optionalQueue<M extends object>(variable: string) {
  const queueUrl = optional(variable);
  if (queueUrl === undefined) return { isOn: false, send: async () => undefined };
  return { isOn: true, ...createSqsMessageQueue<M>(queueAt(queueUrl)) };
}

/** The queue of what is to be e-mailed. */
const emailQueue = () => optionalQueue<EmailMessage>('LFS_QUOTA_EMAIL_QUEUE_URL');

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

/** The store itself, whatever lies in it. Somebody waits for the answer. */
function storeProbe(client: BucketClient, { bucket, endpoint }: S3Settings) {
  const listing = new ScanListing({ client, retry: { attemptsMax: 2 } });
  const kind = endpoint === undefined ? 's3' : 'external';
  return createStoreProbe({ listing, clock }, { kind, endpoint: endpoint ?? null, bucket });
}

/** The account's event bus, if the stage publishes to it. */
function eventBus(): EventBus {
  if (optional('LFS_QUOTA_EVENT_BUS') === undefined) return { publish: async () => undefined };
  return createEventBridge();
}

/** How a secret is read. */
function secret(secretArn: string) {
  return { client: createSecretsClient(), secretArn, nowMs: clock.nowMs };
}
const admin = () => createAdminSecret(secret(required('LFS_QUOTA_ADMIN_SECRET_ARN')));

/** Where the bucket is, and the credentials for it. */
function bucketPlace(): S3Settings {
  const endpoint = optional('LFS_QUOTA_S3_ENDPOINT');
  const secretArn = optional('LFS_QUOTA_S3_CREDENTIALS_SECRET_ARN');
  return {
    bucket: required('LFS_QUOTA_BUCKET'),
    region: required('LFS_QUOTA_S3_REGION'),
    ...(endpoint && { endpoint, forcePathStyle: true }),
    credentials: secretArn ? storeCredentials(secret(secretArn)) : async () => role(),
  };
}

/** The bucket's client, with its connections. A function has one. */
function bucketClient(place = bucketPlace()): BucketClient {
  return new BucketClient(reachable(place));
}

/** What stands in for S3, if something does, is reached in its place. URLs are signed for the bucket as clients reach it. */
const reachable = (place: S3Settings): S3Settings => {
  const endpoint = optional('AWS_ENDPOINT_URL_S3') ?? optional('AWS_ENDPOINT_URL');
  return { ...(endpoint && { endpoint }), ...place };
};

const objectStore = (client: BucketClient) =>
  adoptedStore(createObjectStore({ client, clock }), adoptedRepos());
const archiveStore = (place: S3Settings) =>
  adoptedArchives(createArchiveStore({ client: new ArchiveClient(reachable(place)) }), adoptedRepos());
const urlSigner = (place: S3Settings) => adoptedSigner(createUrlSigner(place), adoptedRepos());

/** Signs objects for the stage's CDN, if it has one. */
function objectSigner(place: S3Settings) {
  const url = optional('LFS_QUOTA_CDN_URL');
  if (url === undefined) return urlSigner(place);
  const publicKey = required('LFS_QUOTA_CDN_PUBLIC_KEY');
  const key = createSecret(secret(required('LFS_QUOTA_CDN_SECRET_ARN')), (pem) =>
    privateKeyIn(pem, publicKey),
  );
  const cdn = { url, keyId: required('LFS_QUOTA_CDN_KEY_ID'), key };
  return adoptedSigner(cdnSigner(createUrlSigner(place), cdn), adoptedRepos());
}

function scanning(client: BucketClient) {
  const listing = adoptedListing(new ScanListing({ client }), adoptedRepos());
  return { listing, scan: createPathScan({ listing, clock, settings: settings(), log: log() }) };
}

/** Whose identity tokens the stage takes. */
const issuers = () => issuersFromJson(stageJson.identityIssuers);

/** Whose people the stage lets in. */
const gitHosts = () => gitHostsFromJson(stageJson.gitHosts);

/** How people are asked for at their git hosts. */
const hostUsers = (tables: ReturnType<typeof table>) => ({
  gitHosts: gitHosts(),
  hostClient: createHostClient(clock),
  linkedRepos: stores.linkedRepos(tables),
  tenantLinks: stores.tenantLinks(tables),
  keptGrants: stores.keptGrants(tables),
  knownHostUsers: new KnownHostUsers(),
});

/** Where clients reach the API, if something stands before it. */
const publicUrl = () => optional('LFS_QUOTA_PUBLIC_URL');

export function consoleDeps() {
  return { files: createConsoleFiles() };
}

/** The ledger, and what its listeners need. */
const heard = (tables: ReturnType<typeof table>) => ({
  ...common(),
  metrics: metrics(),
  ledger: stores.ledger(tables),
  history: stores.history(tables),
  alerts: stores.alerts(tables),
});

export function batchDeps() {
  const [tables, place] = [table(), bucketPlace()];
  const client = bucketClient(place);
  const deps = heard(tables);
  return {
    ...deps,
    publicUrl: publicUrl(),
    ...scanning(client),
    listingPace: new ListingPace(),
    knownObjects: new KnownObjects(),
    listeners: [historyOfBatches(deps), alertsOfBatches(deps)],
    way: chunkedWay({ ...deps, chunkedUploads: stores.chunkedUploads(tables) }),
    downloads: stores.downloads(tables),
    publicReads: stores.publicReads(tables),
    tokens: stores.tokens(tables),
    ...hostUsers(tables),
    store: objectStore(client),
    signer: objectSigner(place),
    storageClasses: storageClasses(),
    queue: queue(),
    copies: stores.copies(tables),
    copyQueue: optionalQueue<CopyMessage>('LFS_QUOTA_COPY_QUEUE_URL'),
  };
}

export function copyDeps() {
  return {
    ...common(),
    copier: createCopier(),
    copies: stores.copies(table()),
    redelivery: redelivery('LFS_QUOTA_COPY_QUEUE_URL'),
  };
}

export function verifyDeps() {
  const store = objectStore(bucketClient());
  return { ...common(), ledger: stores.ledger(table()), store, queue: queue() };
}

export function chunksDeps() {
  const [tables, place] = [table(), bucketPlace()];
  return {
    ...common(),
    chunkedUploads: stores.chunkedUploads(tables),
    chunkQueue: chunkQueue(),
    tokens: stores.tokens(tables),
    listing: adoptedListing(new ScanListing({ client: bucketClient(place) }), adoptedRepos()),
    signer: urlSigner(place),
  };
}

export function locksDeps() {
  const tables = table();
  return {
    ...common(),
    ledger: stores.ledger(tables),
    tokens: stores.tokens(tables),
    ...hostUsers(tables),
    locks: stores.locks(tables),
    audit: stores.audit(tables),
  };
}

export function subscriptionDeps() {
  const [tables, client] = [table(), bucketClient()];
  const deps = heard(tables);
  return {
    ...deps,
    ...scanning(client),
    store: objectStore(client),
    listeners: [historyOfCounts(deps), alertsOfCounts(deps)],
    publicReads: stores.publicReads(tables),
    tokens: stores.tokens(tables),
    admin: admin(),
    queue: queue(),
  };
}

export function exchangeDeps() {
  const tables = table();
  return {
    ...common(),
    publicUrl: publicUrl(),
    identities: createIdentityVerifier(issuers()),
    requestKeys: stores.requestKeys(tables),
    exchangeRules: stores.exchangeRules(tables),
    ledger: stores.ledger(tables),
    tokens: stores.tokens(tables),
    audit: stores.audit(tables),
  };
}

export function signInDeps() {
  const tables = table();
  const client = createSecretsClient();
  const secrets = new Map(
    signInHostsOf(gitHosts()).map(({ id, signIn: { clientSecretArn: secretArn } }) => [
      id,
      createTextSecret({ client, secretArn, nowMs: clock.nowMs }),
    ]),
  );
  const secretOf = ({ id }: { id: string }) =>
    secrets.get(id)?.() ?? Promise.reject(new Error(`${id} has no secret.`));
  return {
    ...common(),
    publicUrl: publicUrl(),
    gitHosts: gitHosts(),
    signInHosts: createSignInHosts({ nowMs: clock.nowMs, secretOf }),
    users: stores.users(tables),
    tokens: stores.tokens(tables),
    // It knows no operator: nobody's session of theirs counts here.
    admin: { sha256s: async () => [] },
    ledger: stores.ledger(tables),
    linkedRepos: stores.linkedRepos(tables),
    tenantLinks: stores.tenantLinks(tables),
    invitations: stores.invitations(tables),
    devices: stores.devices(tables),
    requestKeys: stores.requestKeys(tables),
    audit: stores.audit(tables),
  };
}

export function managementDeps() {
  const [tables, place] = [table(), bucketPlace()];
  const client = bucketClient(place);
  const deps = {
    ...common(),
    publicUrl: publicUrl(),
    limitContactUrl: stageJson.limitContactUrl,
    // Somebody waits, and no scan is under way that would have to begin again.
    listing: adoptedListing(new ScanListing({ client, retry: { attemptsMax: 4 } }), adoptedRepos()),
    adoptedRepos: adoptedRepos(),
    store: objectStore(client),
    ledger: stores.ledger(tables),
    gcRuns: stores.gcRuns(tables),
    claims: chunkClaims({ clock, chunkedUploads: stores.chunkedUploads(tables) }),
    audit: stores.audit(tables),
    history: stores.history(tables),
    alerts: stores.alerts(tables),
    downloads: stores.downloads(tables),
    publicReads: stores.publicReads(tables),
    tokens: stores.tokens(tables),
    requestKeys: stores.requestKeys(tables),
    invitations: stores.invitations(tables),
    devices: stores.devices(tables),
    webhooks: stores.webhooks(tables),
    emails: stores.emails(tables),
    webhookQueue: webhookQueue(),
    emailQueue: emailQueue(),
    webhookUrls: (url: string) => isWebhookUrl(url),
    exchangeRules: stores.exchangeRules(tables),
    issuers: issuers(),
    gitHosts: gitHosts(),
    linkedRepos: stores.linkedRepos(tables),
    tenantLinks: stores.tenantLinks(tables),
    users: stores.users(tables),
    copies: stores.copies(tables),
    locks: stores.locks(tables),
    admin: admin(),
    queue: queue(),
    ...exportsOfDeployment(),
    exportJobs: stores.exportJobs(tables),
    archives: createTextFiles({ client }),
    signer: urlSigner(place),
    storageClasses: storageClasses(),
    queueGauges: queueGauges(),
    storeProbe: storeProbe(client, place),
    failures: stores.failures(tables),
  };
  return { ...deps, belongings: [accountTies(deps), exportTies(deps)], failureKinds: [exportFailures(deps)] };
}

export function reconcileDeps() {
  const [client, tables] = [bucketClient(), table()];
  const deps = {
    ...heard(tables),
    ...scanning(client),
    store: objectStore(client),
    gcRuns: stores.gcRuns(tables),
    webhooks: stores.webhooks(tables),
    emails: stores.emails(tables),
    exportJobs: stores.exportJobs(tables),
    locks: stores.locks(tables),
    publicReads: stores.publicReads(tables),
    linkedRepos: stores.linkedRepos(tables),
    chunkedUploads: stores.chunkedUploads(tables),
    tenantLinks: stores.tenantLinks(tables),
    archives: createTextFiles({ client }),
    queue: queue(),
    failures: stores.failures(tables),
    redelivery: redelivery('LFS_QUOTA_QUEUE_URL'),
  };
  return { ...deps, ...seamsOf(deps) };
}

export function refreshDeps() {
  const tables = table();
  return {
    ...common(),
    ledger: stores.ledger(tables),
    alerts: stores.alerts(tables),
    eventBus: eventBus(),
    emails: stores.emails(tables),
    tokens: stores.tokens(tables),
    history: stores.history(tables),
    webhookQueue: webhookQueue(),
    emailQueue: emailQueue(),
    queue: queue(),
    metrics: metrics(),
    ...exportsOfDeployment(),
    exportJobs: stores.exportJobs(tables),
    chunkedUploads: stores.chunkedUploads(tables),
    chunkQueue: chunkQueue(),
  };
}

export function webhookDeps() {
  return {
    ...common(),
    webhooks: stores.webhooks(table()),
    webhookSender: createWebhookSender(),
    redelivery: redelivery('LFS_QUOTA_WEBHOOK_QUEUE_URL'),
  };
}

export function emailDeps() {
  const configurationSet = required('LFS_QUOTA_EMAIL_CONFIGURATION_SET');
  return {
    ...common(),
    emails: stores.emails(table()),
    mailer: createSesMailer({ from: required('LFS_QUOTA_EMAIL_FROM'), configurationSet }),
    publicUrl: required('LFS_QUOTA_PUBLIC_URL'),
    redelivery: redelivery('LFS_QUOTA_EMAIL_QUEUE_URL'),
  };
}

export function exportDeps() {
  const [place, tables] = [bucketPlace(), table()];
  return {
    ...common(),
    redelivery: redelivery('LFS_QUOTA_EXPORT_QUEUE_URL'),
    listing: adoptedListing(new ScanListing({ client: bucketClient(place) }), adoptedRepos()),
    archives: archiveStore(place),
    exportJobs: stores.exportJobs(tables),
    failures: stores.failures(tables),
    ...exportsOfDeployment(),
  };
}

export function assembleDeps() {
  const [place, tables] = [bucketPlace(), table()];
  return {
    ...common(),
    redelivery: redelivery('LFS_QUOTA_CHUNK_QUEUE_URL'),
    archives: archiveStore(place),
    ledger: stores.ledger(tables),
    chunkedUploads: stores.chunkedUploads(tables),
    chunkQueue: chunkQueue(),
    storageClasses: storageClasses(),
    queue: queue(),
  };
}

export function storeEventsDeps() {
  return { ...common(), adoptedRepos: adoptedRepos(), ledger: stores.ledger(table()), queue: queue() };
}
