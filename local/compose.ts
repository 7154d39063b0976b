import { existsSync } from 'node:fs';
import { sha256Hex } from '../lambda/core/rules/hash.ts';
import type { Consumer } from '../lambda/core/rules/jobs.ts';
import { allOf } from '../lambda/core/rules/lists.ts';
import type { ConsoleFiles, PackedConsole } from '../lambda/core/rules/packed-console.ts';
import type { NeedsOfAll } from '../lambda/core/rules/types.ts';
import { ScanListing } from '../lambda/core/scan/list-objects.ts';
import { createPathScan } from '../lambda/core/scan/path-scan.ts';
import { KnownObjects, ListingPace } from '../lambda/core/scan/rules/known-objects.ts';
import {
  adoptedArchives,
  adoptedListing,
  adoptedSigner,
  adoptedStore,
} from '../lambda/core/store/adopted.ts';
import { ArchiveClient } from '../lambda/core/store/archive-client.ts';
import { BucketClient, type S3Settings } from '../lambda/core/store/bucket-client.ts';
import { createObjectStore } from '../lambda/core/store/object-store.ts';
import { onlyNewProver } from '../lambda/core/store/only-new-proof.ts';
import { type AdoptedRepo, AdoptedRepos } from '../lambda/core/store/rules/adopted-repos.ts';
import type { StorageClass } from '../lambda/core/store/rules/storage-class.ts';
import type { ObjectStore, UrlSigner } from '../lambda/core/store/rules/store.ts';
import type { StoreKind } from '../lambda/core/store/rules/store-kind.ts';
import { createArchiveStore } from '../lambda/core/store/s3-archives.ts';
import { createUrlSigner } from '../lambda/core/store/signing.ts';
import { createConsoleFiles } from '../lambda/frame/aws/function-environment.ts';
import { createStoreProbe } from '../lambda/frame/gauges/rules/gauges.ts';
import { create as reconcile } from '../lambda/frame/work/reconcile.ts';
import { create as refresh } from '../lambda/functions/refresh.ts';
import * as unmatched from '../lambda/lists/unmatched.ts';
import { routeKeys } from '../lambda/routes.ts';
import { allSeamsOf } from '../lambda/subjects.ts';
import { type QueueName, type Queues, queuesOfSubjects } from './background/queues.ts';
import type { ScheduledFunction } from './background/schedule.ts';
import type { Database } from './data/database.ts';
import type { Deps } from './deps.ts';
import type { HttpFunctions } from './front.ts';
import * as httpHandlers from './http-handlers.ts';
import { noMetrics } from './lambda-context.ts';
import * as subjectPorts from './ports.ts';
import * as subjectQueues from './queues.ts';
import type { StoreCredentials } from './store/signed-request.ts';
import type { RunningStore } from './store/start-store.ts';
import { storesOn } from './stores.ts';
import type { Turns } from './turns.ts';

/** Signatures that are made in one piece: about two milliseconds. */
const signaturesAtOnce = 128;

/** A signer that pauses between its signatures while it signs many. */
export function pausingSigner(signer: UrlSigner, turns: Pick<Turns, 'pauseAfter'>): UrlSigner {
  return {
    signUpload: async (input) => {
      await turns.pauseAfter(signaturesAtOnce);
      return signer.signUpload(input);
    },
    signDownload: async (input) => {
      await turns.pauseAfter(signaturesAtOnce);
      return signer.signDownload(input);
    },
  };
}

/** One whose URLs have the name that was requested: `from` is replaced, for which they are signed. */
export function namingSigner(signer: UrlSigner, from: string, to: () => string): UrlSigner {
  const named = <S extends { readonly href: string }>(signed: S): S => ({
    ...signed,
    href: to() + signed.href.slice(from.length),
  });
  return {
    signUpload: async (input) => named(await signer.signUpload(input)),
    signDownload: async (input) => named(await signer.signDownload(input)),
  };
}

/** The store that holds the objects. */
export interface StackStore
  extends Required<Pick<S3Settings, 'bucket' | 'region' | 'endpoint' | 'forcePathStyle' | 'credentials'>> {
  readonly kind: 'embedded' | 'external';
  /** What it does with parts. */
  readonly exportsAs: StoreKind;
  /** Default: none. */
  readonly storageClasses?: readonly StorageClass[];
  /** What it's asked in this process, as a batch asks for up to 1,000 objects. Default: all is asked by requests. */
  readonly asked?: Partial<ObjectStore>;
  readonly damage?: RunningStore['damage'];
  /** Serves what clients ask for by presigned URLs of the API's own origin. Default: they ask the endpoint. */
  readonly serve?: RunningStore['serve'];
}

/** The store of this stack's data folder. */
export function embeddedStore(
  {
    url,
    head,
    discardDamaged,
    takeSpace,
    leaveSpace,
    ...own
  }: Pick<RunningStore, 'url' | 'head'> &
    Partial<RunningStore> &
    Pick<ObjectStore, 'takeSpace' | 'leaveSpace'>,
  { bucket, credentials }: { bucket: string; credentials: StoreCredentials },
): StackStore {
  return {
    kind: 'embedded',
    exportsAs: 'local',
    endpoint: url,
    asked: {
      head: async (key) => head(key),
      ...(discardDamaged && { discardDamaged }),
      ...(takeSpace && { takeSpace }),
      ...(leaveSpace && { leaveSpace }),
    },
    ...own,
    bucket,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: async () => credentials,
  };
}

type Creators<L extends Readonly<Record<string, { readonly create: unknown }>>> = {
  readonly [Name in keyof L]: L[Name]['create'];
};

/** What makes each of a list. */
const creators = <L extends Readonly<Record<string, { readonly create: unknown }>>>(list: L) =>
  Object.fromEntries(Object.entries(list).map(([name, { create }]) => [name, create])) as Creators<L>;

/** What is given to the functions as it is. Default: nobody reads the metrics. */
type Given = Queues &
  Pick<Deps, 'mailer' | 'queueGauges' | 'clock' | 'ids' | 'log' | 'invocations' | 'settings'> &
  Omit<NeedsOfAll<Creators<typeof subjectPorts>>, 'adminSha256' | 'exportsAs'> & {
    metrics?: Deps['metrics'] | undefined;
  };

interface ComposeInput extends Given {
  readonly database: Pick<Database, 'client' | 'tableName'> & Pick<Deps, 'disk'>;
  readonly store: StackStore;
  /** The origin that URLs of its own store are signed for. */
  readonly url: string;
  /** What these URLs begin with. Default: that origin. */
  readonly objectsUrl?: () => string;
  /** Webhooks may be on this machine, by plain HTTP. */
  readonly allowsLoopbackWebhooks: boolean;
  /** Each hour of usage, to the store. */
  readonly writesUsage?: boolean | undefined;
  readonly adminToken: string;
  readonly adoptedRepos: readonly AdoptedRepo[];
  readonly turns: Pick<Turns, 'pauseAfter'>;
}

/** The embedded store answers late while this process is busy, so clients wait 30 s instead of 10 s. */
const busyFactor = 3;

/** The dependencies of the deployed functions: the AWS adapters, but for HEAD, connected to the embedded engines. */
export function composeEmbedded({
  database,
  store,
  url,
  objectsUrl = () => url,
  allowsLoopbackWebhooks: allowsLoopback,
  writesUsage,
  adminToken,
  adoptedRepos: adopted,
  turns,
  metrics = noMetrics,
  ...given
}: ComposeInput): { deps: Deps; close: () => void } {
  const { clock, log, settings } = given;
  const { kind, exportsAs, storageClasses = [], asked, serve, damage, ...place } = store;
  const timeoutFactor = kind === 'embedded' ? busyFactor : 1;
  const client = new BucketClient({ ...place, timeoutFactor });
  const adoptedRepos = new AdoptedRepos(adopted);
  const listing = adoptedListing(new ScanListing({ client }), adoptedRepos);
  const requests = createObjectStore({ client, clock });
  const archiveClient = new ArchiveClient({ ...place, timeoutFactor });
  const adminSha256 = sha256Hex(adminToken);
  const signer = serve
    ? namingSigner(createUrlSigner({ ...place, endpoint: url }), url, objectsUrl)
    : createUrlSigner(place);
  const ofSubjects = { ...given, adminSha256, exportsAs };
  const ports: Omit<Deps, keyof ReturnType<typeof allSeamsOf>> = {
    ...storesOn({ client: database.client, tableName: database.tableName }),
    ...given,
    ...allOf(creators(subjectPorts), ofSubjects),
    metrics,
    eventBus: { publish: async () => undefined },
    allowsLoopback,
    admin: { sha256s: async () => [adminSha256] },
    store: adoptedStore({ ...requests, ...asked }, adoptedRepos),
    proveOnlyNew: onlyNewProver({
      store: requests,
      signer: createUrlSigner(place),
      listing: new ScanListing({ client }),
      clock,
      ids: given.ids,
    }),
    listing,
    adoptedRepos,
    scan: createPathScan({ listing, clock, settings, log }),
    listingPace: new ListingPace(),
    knownObjects: new KnownObjects(),
    archives: adoptedArchives(createArchiveStore({ client: archiveClient }), adoptedRepos),
    storageClasses,
    signer: pausingSigner(adoptedSigner(signer, adoptedRepos), turns),
    storeProbe: createStoreProbe(
      { listing: new ScanListing({ client, retry: { attemptsMax: 2 } }), clock },
      { kind, endpoint: place.endpoint, bucket: place.bucket, ...(damage && { damage }) },
    ),
    disk: database.disk,
  };
  const deps: Deps = { ...ports, ...allSeamsOf(ports), ...(writesUsage && { usageFiles: ports }) };
  const close = () => {
    client.destroy();
    archiveClient.destroy();
  };
  return { deps, close };
}

/** Loopback is fast: what counts is when the page is there. */
const quality = 4;

/** The console below a path: its page alone names that. */
function belowPath({ page, assets }: PackedConsole, path: string): PackedConsole {
  const text = Buffer.from(page.bodies.identity, 'base64')
    .toString()
    .replaceAll('"/assets/', `"${path}/assets/`);
  const identity = Buffer.from(text).toString('base64');
  return { assets, page: { ...page, etag: page.etag + path, bodies: { identity } } };
}

/** The console: packed beside the bundle, or in a checkout built from its source when somebody first opens it. */
function consoleFiles(): ConsoleFiles {
  if (existsSync(new URL('console.json', import.meta.url))) return createConsoleFiles();
  let files: PackedConsole | undefined;
  return {
    async read() {
      files ??= (await import('../console/build/pack.ts')).packConsole({ quality });
      return files;
    },
  };
}

/** The functions that are deployed, over the embedded stack's dependencies. */
interface Functions {
  readonly http: HttpFunctions;
  readonly refresh: ScheduledFunction;
  readonly consumers: Readonly<Record<QueueName, Consumer>>;
  readonly resume: (queues: Queues, isAlone: boolean) => Promise<void>;
}

/** What each of them makes. */
function made<H extends Readonly<Record<string, (deps: D) => R>>, D, R>(all: H, deps: D) {
  return Object.fromEntries(Object.entries(all).map(([name, create]) => [name, create(deps)])) as Readonly<
    Record<keyof H, R>
  >;
}

/** @param publicUrl where e-mails lead to. @param askedPath that of the URL that was requested. */
export function createFunctions(
  deps: Deps,
  { publicUrl = '', askedPath = () => '' }: { publicUrl?: string; askedPath?: () => string } = {},
): Functions {
  const { notFound, ...rest } = httpHandlers;
  const files = consoleFiles();
  const read = async () => {
    const [packed, path] = [await files.read(), askedPath()];
    return path === '' ? packed : belowPath(packed, path);
  };
  return {
    http: { ...made(rest, { ...deps, files: { read } }), notFound: notFound(routeKeys, unmatched) },
    refresh: refresh(deps),
    consumers: { ...made(creators(subjectQueues), { ...deps, publicUrl }), reconciles: reconcile(deps) },
    async resume(queues, isAlone) {
      for (const [, { resume }] of queuesOfSubjects) await resume?.({ ...deps, ...queues } as never, isAlone);
    },
  };
}
