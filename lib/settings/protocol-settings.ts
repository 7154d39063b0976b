import { z } from 'zod';
import { defaultSettings, type Settings } from '../../lambda/domain/settings.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const mib = 1024 ** 2;

/** A whole number. `why` is what to say beside the bound where it is not a matter of taste. */
function whole(
  bounds: { min: number; max: number; usual: number; whyMin?: string; whyMax?: string },
  what: string,
) {
  const { min, max, usual, whyMin, whyMax } = bounds;
  return z
    .int()
    .min(min, whyMin && `must be ${min} or more: ${whyMin}`)
    .max(max, whyMax && `must be ${max} or less: ${whyMax}`)
    .default(usual)
    .describe(what);
}

const uploads = {
  urlLifetimeMinutes: whole(
    {
      min: 5,
      max: 60,
      usual: defaultSettings.urlLifetimeMs / minute,
      whyMax:
        'a signed URL dies with the session of the role that signed it, of which an hour can be counted on',
    },
    'How long a signed URL is good for. An upload that was promised and never comes is held against the limit for ' +
      'as long, and the grace of uploads besides.',
  ),
  putGraceMinutes: whole(
    { min: 1, max: 1_440, usual: defaultSettings.putGraceMs / minute },
    'How long an upload may take that began just before its URL expired: so many minutes, and …',
  ),
  putMinBytesPerSecond: whole(
    { min: 10_000, max: 1_000_000_000, usual: defaultSettings.putMinBytesPerSecond },
    '… its size at this rate. One that takes longer is counted only by the next scan.',
  ),
  objectMaxMiB: whole(
    {
      min: 1,
      max: 5_120,
      usual: defaultSettings.objectBytesMax / mib,
      whyMax: 'S3 takes 5 GiB in one PUT',
    },
    'Largest object that may be pushed.',
  ),
  clockSkewSeconds: whole(
    {
      min: 1,
      max: 15,
      usual: defaultSettings.clockSkewMs / second,
      whyMin: 'no two clocks are the same',
      whyMax:
        'a batch must be over by every clock when its reservation is voided, a minute after it was made',
    },
    'How far the clocks of two functions are taken to be apart at the most.',
  ),
};

const recounts = {
  recountRestSeconds: whole(
    { min: 0, max: 3_600, usual: defaultSettings.recountRestMs / second },
    'Shortest time between two recounts of one tenant that nobody waits for.',
  ),
  listRequestsPerHour: whole(
    { min: 60, max: 1_000_000, usual: defaultSettings.listRequestsPerHour },
    'LIST requests for one tenant in an hour; a tenant whose scans are dearer is recounted less often. What ' +
      'somebody waits for may run one hour of it ahead.',
  ),
  maxAgeHours: whole(
    { min: 1, max: 720, usual: defaultSettings.maxAgeMs / hour },
    'Usage counted longer ago than this is counted anew when it is asked for, and by the schedule.',
  ),
  idleRefreshMaxDays: whole(
    { min: 1, max: 365, usual: defaultSettings.idleRefreshMaxMs / day },
    'The schedule counts a tenant where nothing happens less and less often: after so many days at the latest.',
  ),
  refreshTenantsMax: whole(
    { min: 1, max: 10_000, usual: defaultSettings.refreshTenantsMax },
    'Tenants that one run of the schedule hands on; the others wait for the next.',
  ),
  scanConcurrency: whole(
    { min: 1, max: 512, usual: defaultSettings.scanConcurrency },
    'LIST requests at once in one scan.',
  ),
};

const waiting = {
  inlineReconcileBudgetSeconds: whole(
    {
      min: 1,
      max: 20,
      usual: defaultSettings.inlineReconcileBudgetMs / second,
      whyMax: 'the batch function ends after 25 s, and keeps 5 of them to answer in',
    },
    'How long a push near the limit waits for a recount, before it is told to come again.',
  ),
  scanWaitSeconds: whole(
    {
      min: 1,
      max: 24,
      usual: defaultSettings.scanWaitMs / second,
      whyMax: 'the function that waits ends after 29 s',
    },
    'How long a read of the usage waits for a count, before it answers with the last one.',
  ),
  retryAfterSeconds: whole(
    { min: 1, max: 60, usual: defaultSettings.retryAfterMs / second },
    'When a client is told to come again, at the soonest.',
  ),
};

const deletes = {
  deleteGraceMinutes: whole(
    {
      min: 1,
      max: 43_200,
      usual: defaultSettings.deleteGraceMs / minute,
      whyMin: 'a push protects an object from its deletion as late as its function may end, after 29 s',
    },
    'How long an object that is to be deleted can still be kept, by pushing it again.',
  ),
};

/** The constants of the protocol that a stage may change: lambda/domain/settings.ts has them all. */
export const protocolSettings = z
  .strictObject({ ...uploads, ...recounts, ...waiting, ...deletes })
  .prefault({})
  .describe('How usage is counted, and how often. The defaults are what is tested most.');

export type ProtocolSettings = z.output<typeof protocolSettings>;

/** What the functions are to use, in their units. */
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
    scanConcurrency: protocol.scanConcurrency,
    inlineReconcileBudgetMs: protocol.inlineReconcileBudgetSeconds * second,
    scanWaitMs: protocol.scanWaitSeconds * second,
    retryAfterMs: protocol.retryAfterSeconds * second,
    deleteGraceMs: protocol.deleteGraceMinutes * minute,
  };
}
