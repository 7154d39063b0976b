const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/**
 * The constants of the protocol. A stage may change each of them, and tests use smaller ones. Each comment says what
 * the value means for correctness. These are the defaults of a deployed stage.
 */
export const defaultSettings = {
  /** How long a signed URL is valid, from the creation of its reservation. */
  urlLifetimeMs: 30 * minute,
  /** How much longer than its URLs a reservation lives. No URL may outlive its reservation. */
  reservationSlackMs: minute,
  /**
   * A PUT may begin just before its URL expires. It is assumed to end within this time plus its size divided by
   * `putMinBytesPerSecond`. A slower one is counted only by the next scan.
   */
  putGraceMs: 5 * minute,
  /** Slowest rate at which a PUT is assumed to send. */
  putMinBytesPerSecond: 1_000_000,
  /** Assumed bound on how far the clocks of two functions differ. */
  clockSkewMs: 5 * second,
  /** Time limit of the batch function. A batch does nothing later than this after its start. */
  batchTimeLimitMs: 25 * second,
  /**
   * A batch is told "stored" by a listing of its process that is no older than this. The records of deleted objects are
   * kept for so much longer, and a repo stays closed until no batch knows what was in it.
   */
  listingTrustMs: 20 * second,
  /** A pending reservation that is older than this has lost its batch function, and is voided. */
  pendingVoidAfterMs: minute,
  /** How long a batch may spend on one reconcile at the limit. */
  inlineReconcileBudgetMs: 15 * second,
  /** Shortest Retry-After of a 429, before jitter. */
  retryAfterMs: 2 * second,
  /** A reconcile's lease. It is renewed while the scan gets pages. */
  reconcileLeaseMs: 15 * second,
  /** A count that is older than this is a cache miss. The schedule counts a tenant in use in full this often. */
  maxAgeMs: 24 * hour,
  /** Longest time between two full counts of the schedule, for a tenant in which nothing happens. */
  idleRefreshMaxMs: 30 * 24 * hour,
  /** Shortest time between the beginnings of two reconciles of a tenant that nobody waits for. */
  reconcileRestMs: minute,
  /** Each tenant's budget of LIST requests. A tenant with costly scans is counted less often. More than 0. */
  listRequestsPerHour: 1200,
  /** How long a read of the usage waits for a scan before it answers 202. */
  scanWaitMs: 20 * second,
  /** LIST requests of one scan at a time, at most. */
  scanConcurrency: 128,
  /**
   * HEAD requests that cost as much as one LIST, rounded up: 12.5 on S3 and on R2. A batch asks the store by LIST if that
   * is no dearer. With more than a batch has objects it always asks by HEAD, as is right for a store whose LIST does
   * not show every upload at once.
   */
  headsPerList: 13,
  /** Objects in one batch request, at most. */
  batchObjectsMax: 1000,
  /** Size of one request body, at most. */
  bodyBytesMax: 1024 * 1024,
  /** Largest object that one PUT can carry. S3 accepts up to 5 GiB. */
  objectBytesMax: 5 * 1024 ** 3,
  /** Larger objects are uploaded in chunks, by clients that can. */
  chunkedAboveBytes: 5 * 1024 ** 3,
  /** Largest object that is uploaded in chunks. 0: none is. */
  chunkedBytesMax: 5_000 * 1024 ** 3,
  /** Size of a chunk. A multiple of 64, and 5 MiB or more: it becomes a part of a multipart upload. */
  chunkBytes: 64 * 1024 ** 2,
  /** Grace time between marking an object and deleting it. Must exceed the time limit of the function that marks. */
  deleteGraceMs: hour,
  /**
   * Reservations and claims of a tenant, to which deletes add at most: what a PUT may store again waits beyond it, until it
   * is too old for that, or there are fewer.
   */
  unconfirmedEntriesMax: 100_000,
  /** Objects of a repo from which on it is counted by shards. Below half of it, it is listed as a whole again. */
  largeRepoObjects: 100_000,
  /** Objects of a shard, above which it is split. */
  shardObjectsMax: 400_000,
  /** Each shard is scanned this often, because something may have changed around the API. */
  shardRoundMs: 7 * 24 * hour,
  /** LIST requests for the shards of a tenant, beside its budget. */
  shardListsPerHour: 360_000,
  /**
   * LIST requests for the shards of a tenant in a calendar month (UTC). Once they are made, no shard is scanned until the
   * next month. What asks for awaited uploads is charged but not held up, so it may be a little more.
   */
  shardListsPerMonth: 1_000_000_000,
  /** LIST requests that one reconcile makes for shards, about: some seconds of listing. */
  shardListsPerRun: 3000,
  /**
   * Shortest time from the opening of a repo's watch to the snapshot of a clone. A push whose batch began before the
   * watch must have moved its ref by then.
   */
  gcWatchMs: 24 * hour,
  /** A watch ends by itself after this. */
  gcLimitMs: 30 * 24 * hour,
  /** A host's word on a person is kept for so long: who loses access there loses it here no later. */
  hostUserKeptMs: 5 * minute,
  /** The most that who manages a tenant may set as the monthly ceiling of a public repo. The operator may set more. */
  publicMonthBytesMax: 1024 ** 4,
  /** Tenants that one run of the schedule hands to the queue, at most. */
  refreshTenantsMax: 300,
};

export type Settings = Readonly<typeof defaultSettings>;

/**
 * Settings as a stage hands them to its functions: a JSON object of those that differ from the defaults. A stage that
 * changes nothing hands over nothing.
 */

/** @returns undefined if nothing differs from the defaults. */
export function settingsToJson(settings: Settings): string | undefined {
  const names = Object.keys(defaultSettings) as (keyof Settings)[];
  const changed = names.filter((name) => settings[name] !== defaultSettings[name]);
  if (changed.length === 0) return undefined;
  return JSON.stringify(Object.fromEntries(changed.map((name) => [name, settings[name]])));
}

/**
 * The defaults, with the changes in the text.
 * @throws {Error} with a message that names what is wrong. A function with half of its settings must not start.
 */
export function settingsFromJson(text: string | undefined): Settings {
  if (text === undefined) return defaultSettings;
  const changes = objectOf(text);
  for (const [name, value] of Object.entries(changes)) {
    if (!Object.hasOwn(defaultSettings, name)) throw new Error(`"${name}" isn't a setting of this version.`);
    if (!Number.isSafeInteger(value) || Number(value) < 0)
      throw new Error(`"${name}" must be a whole number, 0 or more; it is ${JSON.stringify(value)}.`);
  }
  return { ...defaultSettings, ...changes };
}

function objectOf(text: string): object {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new Error("It isn't valid JSON.", { cause });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new Error("It isn't a JSON object.");
  return parsed;
}
