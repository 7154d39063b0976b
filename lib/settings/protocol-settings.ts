import { z } from 'zod';
import { defaultSettings, type Settings } from '../../lambda/core/rules/settings.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const mib = 1024 ** 2;
const gib = 1024 ** 3;

/** Why the bounds are where they are, for the error. Left out if any bound near it would do. */
interface Whys {
  readonly min?: string;
  readonly max?: string;
}

/** A whole number with bounds. */
export function whole(
  [min, max]: readonly [min: number, max?: number],
  defaultValue: number,
  description: string,
  why: Whys = {},
) {
  const above = z.int().min(min, why.min && `must be ${min} or more: ${why.min}`);
  const bounded = max === undefined ? above : above.max(max, why.max && `must be ${max} or less: ${why.max}`);
  return bounded.default(defaultValue).describe(description);
}

/** A setting of a stage, by its unit, and the one of the functions that it sets. */
const row = (
  name: keyof Settings,
  unit: number,
  bounds: readonly [min: number, max: number],
  description: string,
  why?: Whys,
) => ({ name, unit, schema: whole(bounds, defaultSettings[name] / unit, description, why) });

const rows = {
  // A URL dies with the session of the role that signed it. That an hour is left of it is an assumption: AWS states no
  // least life for the session of a function's role, and URLs have been seen to work for about 12 hours. Were it less,
  // the store would answer 403 and git-lfs ask for a new URL: bytes stay reserved too long, never too short.
  urlLifetimeMinutes: row(
    'urlLifetimeMs',
    minute,
    [5, 60],
    'Lifetime of signed URLs. Unfinished uploads count this long, plus the grace period.',
    { max: 'a signed URL expires with the role session that signed it, which might end after an hour' },
  ),
  putGraceMinutes: row(
    'putGraceMs',
    minute,
    [1, 1_440],
    'Grace period: an upload that started in time can take this long, plus …',
  ),
  putMinBytesPerSecond: row(
    'putMinBytesPerSecond',
    1,
    [10_000, 1_000_000_000],
    '… its size at this rate. A slower upload is counted at the next scan.',
  ),
  objectMaxMiB: row('objectBytesMax', mib, [1, 5_120], 'Largest file that is uploaded in one PUT.', {
    max: 'S3 accepts at most 5 GiB in one PUT',
  }),
  chunkedMaxGiB: row(
    'chunkedBytesMax',
    gib,
    [0, 5_000],
    'Largest file that is uploaded in chunks. 0: no file is.',
    { max: 'S3 stores at most 5 TiB in one object' },
  ),
  chunkedAboveMiB: row(
    'chunkedAboveBytes',
    mib,
    [1, 5_120],
    'Larger files are uploaded in chunks, if the client has the transfer agent.',
  ),
  chunkMiB: row(
    'chunkBytes',
    mib,
    [5, 512],
    'Size of a chunk. Files of over 10,000 chunks have chunks of 8 times this size.',
    {
      min: 'S3 makes objects only of parts of 5 MiB or more',
      max: 'S3 copies at most 5 GiB into one part',
    },
  ),
  clockSkewSeconds: row(
    'clockSkewMs',
    second,
    [1, 15],
    'Largest difference between the clocks of two functions.',
    {
      min: 'no two clocks agree exactly',
      max: 'a batch must be over, by every clock, when its reservation is voided one minute after it was made',
    },
  ),
  reconcileRestSeconds: row(
    'reconcileRestMs',
    second,
    [0, 3_600],
    'Shortest time between two reconciles of a tenant that only the schedule waits for.',
  ),
  listRequestsPerHour: row(
    'listRequestsPerHour',
    1,
    [60, 1_000_000],
    'LIST requests per tenant and hour. If they run out, usage is updated less often.',
  ),
  maxAgeHours: row('maxAgeMs', hour, [1, 720], "Oldest usage before it's updated."),
  idleRefreshMaxDays: row(
    'idleRefreshMaxMs',
    day,
    [1, 365],
    'Longest time between two updates of an idle tenant.',
  ),
  refreshTenantsMax: row('refreshTenantsMax', 1, [1, 10_000], 'Tenants per run of the schedule.'),
  largeRepoObjects: row(
    'largeRepoObjects',
    1,
    [1000, 1_000_000_000],
    "Number of objects that makes a repo large: it's scanned in shards. Below half of it, it's scanned as a whole again.",
    { min: 'listing a smaller repo costs less than keeping its shards' },
  ),
  shardObjectsMax: row(
    'shardObjectsMax',
    1,
    [10_000, 10_000_000],
    "Largest shard. Above, it's split into sixteen.",
  ),
  shardRoundDays: row(
    'shardRoundMs',
    day,
    [1, 365],
    'Days to list each shard once. 1,000 objects cost one LIST.',
  ),
  shardListsPerHour: row(
    'shardListsPerHour',
    1,
    [60, 10_000_000],
    'LIST requests per tenant and hour for shards, in addition.',
  ),
  shardListsPerMonth: row(
    'shardListsPerMonth',
    1,
    [1000, 1_000_000_000],
    'LIST requests per tenant and calendar month (UTC) for shards. If they run out, changes around the API show next month. Default: unlimited in practice. A million cost $5 on S3.',
  ),
  headsPerList: row(
    'headsPerList',
    1,
    [1, 1_000_000],
    'HEAD requests that cost as much as one LIST. Use 1000000 for a store that lists uploads late.',
  ),
  scanConcurrency: row('scanConcurrency', 1, [1, 512], 'Concurrent LIST requests of one scan.'),
  inlineReconcileBudgetSeconds: row(
    'inlineReconcileBudgetMs',
    second,
    [1, 20],
    'How long a push near the limit waits for a reconcile, before 429.',
    { max: 'the batch function times out after 25 s, and needs 5 of them to answer' },
  ),
  scanWaitSeconds: row(
    'scanWaitMs',
    second,
    [1, 24],
    'How long a request for usage waits for a scan, before 202.',
    { max: 'the function that waits times out after 29 s' },
  ),
  retryAfterSeconds: row('retryAfterMs', second, [1, 60], 'Shortest Retry-After.'),
  deleteGraceMinutes: row(
    'deleteGraceMs',
    minute,
    [1, 43_200],
    'How long a push can keep a deleted object.',
    { min: 'a push may protect an object from deletion until its function times out, after 29 s' },
  ),
  gcWatchHours: row(
    'gcWatchMs',
    hour,
    [1, 168],
    'Shortest time from the first `gc` to a delete. Every push must finish within it.',
    { min: 'a push that started before must have moved its branch by then' },
  ),
  hostUserKeptMinutes: row(
    'hostUserKeptMs',
    minute,
    [1, 60],
    "How long a git host's response about a user is valid.",
    { max: 'users who lose access at their git host keep it here that long' },
  ),
  publicMonthMaxGiB: row(
    'publicMonthBytesMax',
    gib,
    [0, 1_000_000],
    'Largest monthly download limit that a `manage` token can set for a public repo. 0: only the operator makes repos public.',
  ),
};

type Rows = typeof rows;
const shape = Object.fromEntries(Object.entries(rows).map(([name, { schema }]) => [name, schema])) as {
  readonly [K in keyof Rows]: Rows[K]['schema'];
};

/** The constants of the protocol that a stage may change. lambda/core/rules/settings.ts has all of them. */
export const protocolSettings = z
  .strictObject(shape)
  .prefault({})
  .describe('How usage is counted. The defaults are tested most.');

type ProtocolSettings = z.output<typeof protocolSettings>;

/** The same settings in the units that the functions use. */
export function settingsOf(protocol: ProtocolSettings): Settings {
  const changed = Object.entries(rows).map(([key, { name, unit }]) => [
    name,
    protocol[key as keyof Rows] * unit,
  ]);
  return { ...defaultSettings, ...Object.fromEntries(changed) };
}
