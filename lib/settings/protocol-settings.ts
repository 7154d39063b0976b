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
      whyMax:
        'a presigned URL expires with the role session that signed it, and longer than an hour is not assumed of one',
    },
    'How long a presigned URL is valid. An upload that never arrives counts against the limit for this long, plus ' +
      'the grace.',
  ),
  putGraceMinutes: whole(
    { min: 1, max: 1_440, defaultValue: defaultSettings.putGraceMs / minute },
    'Grace: an upload that began just before its URL expired may take this long, plus …',
  ),
  putMinBytesPerSecond: whole(
    { min: 10_000, max: 1_000_000_000, defaultValue: defaultSettings.putMinBytesPerSecond },
    '… its size at this rate. The next scan counts an upload that takes longer.',
  ),
  objectMaxMiB: whole(
    {
      min: 1,
      max: 5_120,
      defaultValue: defaultSettings.objectBytesMax / mib,
      whyMax: 'S3 accepts at most 5 GiB in one PUT',
    },
    'Largest object that may be pushed.',
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
    'Largest assumed difference between the clocks of two functions.',
  ),
};

const recounts = {
  recountRestSeconds: whole(
    { min: 0, max: 3_600, defaultValue: defaultSettings.recountRestMs / second },
    'Shortest time between two recounts of a tenant that nobody waits for.',
  ),
  listRequestsPerHour: whole(
    { min: 60, max: 1_000_000, defaultValue: defaultSettings.listRequestsPerHour },
    'LIST requests per tenant and hour. A tenant whose scans cost more is recounted less often. A recount that ' +
      'somebody waits for may overdraw one hour.',
  ),
  maxAgeHours: whole(
    { min: 1, max: 720, defaultValue: defaultSettings.maxAgeMs / hour },
    'Age at which a count is renewed, by the schedule or when somebody reads the usage.',
  ),
  idleRefreshMaxDays: whole(
    { min: 1, max: 365, defaultValue: defaultSettings.idleRefreshMaxMs / day },
    'The schedule counts idle tenants less and less often, but at least this often.',
  ),
  refreshTenantsMax: whole(
    { min: 1, max: 10_000, defaultValue: defaultSettings.refreshTenantsMax },
    'Tenants that one run of the schedule queues. The rest wait for the next.',
  ),
  giantObjects: whole(
    {
      min: 1000,
      max: 1_000_000_000,
      defaultValue: defaultSettings.giantObjects,
      whyMin: 'listing a smaller repo costs less than keeping its shards',
    },
    'A repo of so many objects is a giant: it is counted by shards, and a push to it causes no LIST. Below half of it, it ' +
      'is listed as a whole again.',
  ),
  shardObjectsMax: whole(
    { min: 10_000, max: 10_000_000, defaultValue: defaultSettings.shardObjectsMax },
    'A shard of a giant repo that has more objects is split into sixteen.',
  ),
  shardRoundDays: whole(
    { min: 1, max: 365, defaultValue: defaultSettings.shardRoundMs / day },
    'Each shard of a giant repo is listed this often, to find what changed around the API. It sets what giants cost: a ' +
      'thousand objects are one LIST.',
  ),
  shardListsPerHour: whole(
    { min: 60, max: 10_000_000, defaultValue: defaultSettings.shardListsPerHour },
    'LIST requests per tenant and hour for the shards of its giant repos, beside the others.',
  ),
  shardListsPerMonth: whole(
    { min: 1000, max: 1_000_000_000, defaultValue: defaultSettings.shardListsPerMonth },
    'LIST requests per tenant and calendar month (UTC) for the shards of its giant repos. When they are used up, no shard ' +
      'is listed until the next month: pushes and deletes are still counted, changes around the API are not. A million ' +
      'costs 5 dollars on S3. By default there is no such limit in practice.',
  ),
  headsPerList: whole(
    { min: 1, max: 1_000_000, defaultValue: defaultSettings.headsPerList },
    'HEAD requests that cost as much as one LIST. A batch finds out what is stored by LIST if that is no dearer. With ' +
      '1000000 it always asks by HEAD: set that for a store whose LIST does not show every upload at once.',
  ),
  scanConcurrency: whole(
    { min: 1, max: 512, defaultValue: defaultSettings.scanConcurrency },
    'LIST requests at a time in one scan.',
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
    'How long a push near the limit waits for a recount before it is answered 429.',
  ),
  scanWaitSeconds: whole(
    {
      min: 1,
      max: 24,
      defaultValue: defaultSettings.scanWaitMs / second,
      whyMax: 'the function that waits times out after 29 s',
    },
    'How long a read of the usage waits for a count before it gets the last one.',
  ),
  retryAfterSeconds: whole(
    { min: 1, max: 60, defaultValue: defaultSettings.retryAfterMs / second },
    'Shortest Retry-After that clients get.',
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
    'How long an object marked for deletion can be kept by pushing it again.',
  ),
  cleanupWatchHours: whole(
    {
      min: 1,
      max: 168,
      defaultValue: defaultSettings.cleanupWatchMs / hour,
      whyMin: 'a push that began before a clean-up was opened must have moved its branch by then',
    },
    'Shortest time from the opening of a clean-up to the look at its clone. No push may take longer.',
  ),
};

const people = {
  personKeptMinutes: whole(
    {
      min: 1,
      max: 60,
      defaultValue: defaultSettings.personKeptMs / minute,
      whyMax: 'whoever loses access at their git host keeps it here for so long',
    },
    "How long a git host's word on a person is kept: docs/git-hosts.md.",
  ),
  publicMonthMaxGiB: whole(
    { min: 0, max: 1_000_000, defaultValue: defaultSettings.publicMonthBytesMax / gib },
    'Largest monthly limit of a public repo that a token with the scope manage can set, also in a tenant without a ' +
      'download limit. The admin token can set more. 0: only the operator makes repos public.',
  ),
};

/** The constants of the protocol that a stage may change. lambda/rules/settings.ts has all of them. */
export const protocolSettings = z
  .strictObject({ ...uploads, ...recounts, ...waiting, ...deletes, ...people })
  .prefault({})
  .describe('How, and how often, usage is counted. The defaults are tested most.');

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
    recountRestMs: protocol.recountRestSeconds * second,
    listRequestsPerHour: protocol.listRequestsPerHour,
    maxAgeMs: protocol.maxAgeHours * hour,
    idleRefreshMaxMs: protocol.idleRefreshMaxDays * day,
    refreshTenantsMax: protocol.refreshTenantsMax,
    giantObjects: protocol.giantObjects,
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
    cleanupWatchMs: protocol.cleanupWatchHours * hour,
    personKeptMs: protocol.personKeptMinutes * minute,
    publicMonthBytesMax: protocol.publicMonthMaxGiB * gib,
  };
}
