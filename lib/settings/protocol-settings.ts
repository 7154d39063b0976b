import { z } from 'zod';
import { defaultSettings, type Settings } from '../../lambda/rules/settings.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const mib = 1024 ** 2;
const gib = 1024 ** 3;

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly defaultValue: number;
  /** Why the bound is where it is, for the error. Left out if any bound near it would do. */
  readonly whyMin?: string;
  readonly whyMax?: string;
}

/** A whole number with bounds. */
function whole(bounds: Bounds, description: string) {
  const { min, max, defaultValue, whyMin, whyMax } = bounds;
  return z
    .int()
    .min(min, whyMin && `must be ${min} or more: ${whyMin}`)
    .max(max, whyMax && `must be ${max} or less: ${whyMax}`)
    .default(defaultValue)
    .describe(description);
}

const uploads = {
  // A URL dies with the session of the role that signed it. That an hour is left of it is an assumption: AWS states no
  // least life for the session of a function's role, and URLs have been seen to work for about 12 hours. Were it less,
  // the store would answer 403 and git-lfs ask for a new URL: bytes stay reserved too long, never too short.
  urlLifetimeMinutes: whole(
    {
      min: 5,
      max: 60,
      defaultValue: defaultSettings.urlLifetimeMs / minute,
      whyMax: 'a signed URL expires with the role session that signed it, which might end after an hour',
    },
    'Lifetime of signed URLs. Unfinished uploads count this long, plus the grace period.',
  ),
  putGraceMinutes: whole(
    { min: 1, max: 1_440, defaultValue: defaultSettings.putGraceMs / minute },
    'Grace period: an upload that started in time can take this long, plus …',
  ),
  putMinBytesPerSecond: whole(
    { min: 10_000, max: 1_000_000_000, defaultValue: defaultSettings.putMinBytesPerSecond },
    '… its size at this rate. A slower upload is counted at the next scan.',
  ),
  objectMaxMiB: whole(
    {
      min: 1,
      max: 5_120,
      defaultValue: defaultSettings.objectBytesMax / mib,
      whyMax: 'S3 accepts at most 5 GiB in one PUT',
    },
    'Largest file.',
  ),
  clockSkewSeconds: whole(
    {
      min: 1,
      max: 15,
      defaultValue: defaultSettings.clockSkewMs / second,
      whyMin: 'no two clocks agree exactly',
      whyMax:
        'a batch must be over, by every clock, when its reservation is voided one minute after it was made',
    },
    'Largest difference between the clocks of two functions.',
  ),
};

const reconciles = {
  reconcileRestSeconds: whole(
    { min: 0, max: 3_600, defaultValue: defaultSettings.reconcileRestMs / second },
    'Shortest time between two reconciles of a tenant that only the schedule waits for.',
  ),
  listRequestsPerHour: whole(
    { min: 60, max: 1_000_000, defaultValue: defaultSettings.listRequestsPerHour },
    'LIST requests per tenant and hour. If they run out, usage is updated less often.',
  ),
  maxAgeHours: whole(
    { min: 1, max: 720, defaultValue: defaultSettings.maxAgeMs / hour },
    "Oldest usage before it's updated.",
  ),
  idleRefreshMaxDays: whole(
    { min: 1, max: 365, defaultValue: defaultSettings.idleRefreshMaxMs / day },
    'Longest time between two updates of an idle tenant.',
  ),
  refreshTenantsMax: whole(
    { min: 1, max: 10_000, defaultValue: defaultSettings.refreshTenantsMax },
    'Tenants per run of the schedule.',
  ),
  largeRepoObjects: whole(
    {
      min: 1000,
      max: 1_000_000_000,
      defaultValue: defaultSettings.largeRepoObjects,
      whyMin: 'listing a smaller repo costs less than keeping its shards',
    },
    "Number of objects that makes a repo large: it's scanned in shards. Below half of it, it's scanned as a whole again.",
  ),
  shardObjectsMax: whole(
    { min: 10_000, max: 10_000_000, defaultValue: defaultSettings.shardObjectsMax },
    "Largest shard. Above, it's split into sixteen.",
  ),
  shardRoundDays: whole(
    { min: 1, max: 365, defaultValue: defaultSettings.shardRoundMs / day },
    'Days to list each shard once. 1,000 objects cost one LIST.',
  ),
  shardListsPerHour: whole(
    { min: 60, max: 10_000_000, defaultValue: defaultSettings.shardListsPerHour },
    'LIST requests per tenant and hour for shards, in addition.',
  ),
  shardListsPerMonth: whole(
    { min: 1000, max: 1_000_000_000, defaultValue: defaultSettings.shardListsPerMonth },
    'LIST requests per tenant and calendar month (UTC) for shards. If they run out, changes around the API show next month. Default: unlimited in practice. A million cost $5 on S3.',
  ),
  headsPerList: whole(
    { min: 1, max: 1_000_000, defaultValue: defaultSettings.headsPerList },
    'HEAD requests that cost as much as one LIST. Use 1000000 for a store that lists uploads late.',
  ),
  scanConcurrency: whole(
    { min: 1, max: 512, defaultValue: defaultSettings.scanConcurrency },
    'Concurrent LIST requests of one scan.',
  ),
};

const waiting = {
  inlineReconcileBudgetSeconds: whole(
    {
      min: 1,
      max: 20,
      defaultValue: defaultSettings.inlineReconcileBudgetMs / second,
      whyMax: 'the batch function times out after 25 s, and needs 5 of them to answer',
    },
    'How long a push near the limit waits for a reconcile, before 429.',
  ),
  scanWaitSeconds: whole(
    {
      min: 1,
      max: 24,
      defaultValue: defaultSettings.scanWaitMs / second,
      whyMax: 'the function that waits times out after 29 s',
    },
    'How long a request for usage waits for a scan, before 202.',
  ),
  retryAfterSeconds: whole(
    { min: 1, max: 60, defaultValue: defaultSettings.retryAfterMs / second },
    'Shortest Retry-After.',
  ),
};

const deletes = {
  deleteGraceMinutes: whole(
    {
      min: 1,
      max: 43_200,
      defaultValue: defaultSettings.deleteGraceMs / minute,
      whyMin: 'a push may protect an object from deletion until its function times out, after 29 s',
    },
    'How long a push can keep a deleted object.',
  ),
  gcWatchHours: whole(
    {
      min: 1,
      max: 168,
      defaultValue: defaultSettings.gcWatchMs / hour,
      whyMin: 'a push that started before must have moved its branch by then',
    },
    'Shortest time from `gc open` to `gc run`. Every push must finish within it.',
  ),
};

const hostUsers = {
  hostUserKeptMinutes: whole(
    {
      min: 1,
      max: 60,
      defaultValue: defaultSettings.hostUserKeptMs / minute,
      whyMax: 'users who lose access at their git host keep it here that long',
    },
    "How long a git host's response about a user is valid.",
  ),
  publicMonthMaxGiB: whole(
    { min: 0, max: 1_000_000, defaultValue: defaultSettings.publicMonthBytesMax / gib },
    'Largest monthly download limit that a `manage` token can set for a public repo. 0: only the operator makes repos public.',
  ),
};

/** The constants of the protocol that a stage may change. lambda/rules/settings.ts has all of them. */
export const protocolSettings = z
  .strictObject({ ...uploads, ...reconciles, ...waiting, ...deletes, ...hostUsers })
  .prefault({})
  .describe('How usage is counted. The defaults are tested most.');

type ProtocolSettings = z.output<typeof protocolSettings>;

/** The same settings in the units that the functions use. */
export function settingsOf(protocol: ProtocolSettings): Settings {
  return {
    ...defaultSettings,
    urlLifetimeMs: protocol.urlLifetimeMinutes * minute,
    putGraceMs: protocol.putGraceMinutes * minute,
    putMinBytesPerSecond: protocol.putMinBytesPerSecond,
    objectBytesMax: protocol.objectMaxMiB * mib,
    clockSkewMs: protocol.clockSkewSeconds * second,
    reconcileRestMs: protocol.reconcileRestSeconds * second,
    listRequestsPerHour: protocol.listRequestsPerHour,
    maxAgeMs: protocol.maxAgeHours * hour,
    idleRefreshMaxMs: protocol.idleRefreshMaxDays * day,
    refreshTenantsMax: protocol.refreshTenantsMax,
    largeRepoObjects: protocol.largeRepoObjects,
    shardObjectsMax: protocol.shardObjectsMax,
    shardRoundMs: protocol.shardRoundDays * day,
    shardListsPerHour: protocol.shardListsPerHour,
    shardListsPerMonth: protocol.shardListsPerMonth,
    headsPerList: protocol.headsPerList,
    scanConcurrency: protocol.scanConcurrency,
    inlineReconcileBudgetMs: protocol.inlineReconcileBudgetSeconds * second,
    scanWaitMs: protocol.scanWaitSeconds * second,
    retryAfterMs: protocol.retryAfterSeconds * second,
    deleteGraceMs: protocol.deleteGraceMinutes * minute,
    gcWatchMs: protocol.gcWatchHours * hour,
    hostUserKeptMs: protocol.hostUserKeptMinutes * minute,
    publicMonthBytesMax: protocol.publicMonthMaxGiB * gib,
  };
}
