import type { ReconcileQueue, ReconcileRequest } from '../../../lambda/core/ledger/rules/reconcile-policy.ts';
import type { Clock, Ids, Log } from '../../../lambda/core/rules/clock-and-log.ts';
import { sha256Hex } from '../../../lambda/core/rules/hash.ts';
import type { SwitchedQueue } from '../../../lambda/core/rules/jobs.ts';
import { allOf } from '../../../lambda/core/rules/lists.ts';
import { defaultSettings } from '../../../lambda/core/rules/settings.ts';
import { createPathScan } from '../../../lambda/core/scan/path-scan.ts';
import { KnownObjects, ListingPace } from '../../../lambda/core/scan/rules/known-objects.ts';
import { AdoptedRepos } from '../../../lambda/core/store/rules/adopted-repos.ts';
import { storageClasses } from '../../../lambda/core/store/rules/storage-class.ts';
import type { UrlSigner } from '../../../lambda/core/store/rules/store.ts';
import { createInvocations } from '../../../lambda/frame/aws/invocation-log.ts';
import { allSeamsOf } from '../../../lambda/subjects.ts';
import type { Queues } from '../../../local/background/queues.ts';
import type { SubjectQueue } from '../../../local/background/subject-queue.ts';
import type { Deps } from '../../../local/deps.ts';
import { noMetrics } from '../../../local/lambda-context.ts';
import * as subjectQueues from '../../../local/queues.ts';
import { storesOn } from '../../../local/stores.ts';
import { Random } from '../random.ts';
import { MemoryArchiveStore } from './archive-store.ts';
import { MemoryObjectStore } from './object-store.ts';
import * as portsOfSubjects from './ports.ts';
import { memoryTable } from './table.ts';

/** The operator's token, unless a test sets another one. */
export const adminToken = 'the-admin-token';

/**
 * All that use cases depend on, in memory. A test passes the parts that it looks at, or that must behave in a special
 * way.
 *
 * @param given.objects stands behind `store`, `listing` and `archives`, unless these are given too.
 */
export function memoryDeps(given: Partial<Deps> & { readonly objects?: MemoryObjectStore } = {}): Deps {
  const { objects = new MemoryObjectStore(), ...ports } = given;
  const { listing = objects, clock = new ManualClock(), settings = defaultSettings } = ports;
  const made: Omit<Deps, keyof ReturnType<typeof allSeamsOf>> = {
    ...storesOn(memoryTable()),
    adoptedRepos: new AdoptedRepos([]),
    proveOnlyNew: async () => ({ kind: 'holds' }),
    ...allOf(portsOfSubjects, {}),
    eventBus: { publish: async () => undefined },
    ...queues(),
    allowsLoopback: true,
    mailer: { send: async () => undefined },
    admin: { sha256s: async () => [sha256Hex(adminToken)] },
    store: objects,
    listing,
    scan: createPathScan({ listing, clock, settings }),
    listingPace: new ListingPace(),
    knownObjects: new KnownObjects(),
    archives: new MemoryArchiveStore({ objects }),
    signer: plainUrls,
    storageClasses,
    queue: recordingQueue().queue,
    queueGauges: [],
    storeProbe: { kind: 'embedded', endpoint: null, bucket: 'objects', probe: async () => undefined },
    clock,
    ids: seededIds(new Random(1)),
    log: silentLog,
    invocations: createInvocations(),
    metrics: noMetrics,
    settings,
    ...ports,
  };
  return { ...made, ...allSeamsOf(made), ...ports };
}

/** The same with other parts, which the subjects get too. */
export function replacingDeps(deps: Deps, parts: Partial<Deps>): Deps {
  const made = { ...deps, ...parts };
  return { ...made, ...allSeamsOf(made), ...parts };
}

/** Whoever reads a clock that stands still as often as this waits for what never comes. */
const readsAtOneTimeMax = 1_000_000;

/** A clock that a test moves. A sleep moves it too, and does not wait. */
export class ManualClock implements Clock {
  #nowMs = 1_800_000_000_000;
  #reads = 0;

  nowMs(): number {
    this.#reads += 1;
    if (this.#reads > readsAtOneTimeMax)
      throw new Error('Something goes on for ever while the clock stands still.');
    return this.#nowMs;
  }

  async sleep(durationMs: number): Promise<void> {
    this.advance(durationMs);
  }

  advance(durationMs: number): void {
    this.#nowMs += durationMs;
    this.#reads = 0;
  }
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Ids that are the same in every run. */
export function seededIds(random: Random): Ids {
  return { random: (length) => Array.from({ length }, () => base62[random.int(0, 61)]).join('') };
}

/** A queue that delivers nothing, and the requests that it got. */
export function recordingQueue(): { queue: ReconcileQueue; requests: ReconcileRequest[] } {
  const requests: ReconcileRequest[] = [];
  const queue: ReconcileQueue = {
    request: async (request) => void requests.push(request),
    requestAll: async (many) => void requests.push(...many),
  };
  return { queue, requests };
}

/** A queue of jobs that delivers nothing, and the jobs that it got. */
export function recordingJobs<J extends object>(): { queue: SwitchedQueue<J>; messages: J[] } {
  const messages: J[] = [];
  return { queue: { isOn: true, send: async (sent) => void messages.push(...sent) }, messages };
}

/** One of each subject. Those that a deployment can be without are off. */
const queues = () =>
  Object.fromEntries(
    Object.values<SubjectQueue>(subjectQueues).map(({ port }) => [
      port,
      { ...recordingJobs().queue, isOn: false },
    ]),
  ) as Omit<Queues, 'queue'>;

const silentLog: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** The same URL for every object. Nobody sends anything to it. */
const plainUrls: UrlSigner = {
  signUpload: async () => ({ href: 'https://store.example/', header: {} }),
  signDownload: async () => ({ href: 'https://store.example/', header: {} }),
};
