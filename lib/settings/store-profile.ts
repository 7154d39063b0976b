import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { type StoreProfile, storeProfileSchema } from '../../cli/doctor/profile.ts';
import { settingsOf } from './protocol-settings.ts';
import type { Conflict } from './stage-checks.ts';
import type { StageSettings } from './stage-settings.ts';

const mib = 1024 ** 2;
const probeAgain = 'Run `npx lfs-quota doctor … --profile FILE` again';

/**
 * What `lfs-quota doctor --profile FILE` wrote about the stage's store.
 *
 * @throws {Error} when the file is not readable, or no profile. The message says what to do.
 */
export function readStoreProfile(file: string): StoreProfile {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new Error(`can't be read as JSON (${cause}). ${probeAgain}`, { cause });
  }
  const parsed = storeProfileSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new Error(`is no profile that this version knows (${z.prettifyError(parsed.error)}). ${probeAgain}`);
}

/**
 * The largest object that a store is known to take, as `protocol.objectMaxMiB`; undefined if nothing larger was refused.
 * A profile of `--largest 1GiB` that was accepted says nothing of what is larger.
 */
export function objectMaxMiBOf({ holds, warnings }: StoreProfile): number | undefined {
  const isRefusedAbove = warnings.includes('largest-upload') && holds.maxPutBytes !== null;
  return isRefusedAbove ? Math.floor((holds.maxPutBytes ?? 0) / mib) : undefined;
}

/** Why a stage cannot work with a store of which this is known. */
export function conflictsWithProfile(settings: StageSettings, profile: StoreProfile): Conflict[] {
  if (settings.objectStore.kind !== 'external') return [];
  const other = isOfOtherStore(settings.objectStore, profile);
  const path = ['objectStore', 'profile'];
  // What is wrong with another store says nothing about this one.
  if (other !== undefined) return [{ path, message: other }];
  const conflicts = unusable(profile).map((message) => ({ path, message }));
  const behind = clockConflict(settings, profile);
  if (behind !== undefined) conflicts.push({ path, message: behind });
  if (profile.holds.partRules.multipart === false && settings.exports.workers > 0) {
    const message =
      'must be 0: by its profile the store takes no uploads in parts, and archives are made of them';
    conflicts.push({ path: ['exports', 'workers'], message });
  }
  const maxMiB = objectMaxMiBOf(profile);
  if (maxMiB !== undefined && settings.protocol.objectMaxMiB > maxMiB) {
    const message = `must be ${maxMiB} or less: by its profile the store refuses larger uploads`;
    conflicts.push({ path: ['protocol', 'objectMaxMiB'], message });
  }
  return conflicts;
}

function isOfOtherStore(
  store: { endpoint: string; region: string; bucket: string },
  profile: StoreProfile,
): string | undefined {
  const endpoint = profile.endpoint?.replace(/\/+$/, '') ?? null;
  const isSame =
    endpoint === store.endpoint && profile.bucket === store.bucket && profile.region === store.region;
  if (isSame) return undefined;
  const probed = `${profile.bucket} at ${endpoint ?? 'AWS'} (${profile.region})`;
  return `is of another store: ${probed}. ${probeAgain}, with the endpoint, region and bucket of the stage`;
}

/** What the accounting relies on, and this store does not do or was not asked for. */
function unusable({ usable, failed, holds, warnings, probedAt }: StoreProfile): string[] {
  if (!usable || failed.length > 0) {
    return [
      `says that the store cannot be used: it failed ${failed.join(', ') || 'a check'} (${probedAt}). ` +
        `${probeAgain} to see why, or choose another store`,
    ];
  }
  const needed = [
    ['checksumEnforced', holds.checksumEnforced === true, 'uploads of other bytes are refused'],
    ['lengthEnforced', holds.lengthEnforced === true, 'uploads of another length are refused'],
    [
      'startAfter',
      holds.startAfter === 'exact' || holds.startAfter === 'inside-prefix',
      'listings can begin behind a key',
    ],
    [
      'listOrder',
      holds.listOrder === 'utf8' || holds.listOrder === 'ascii',
      'listings are in the order of bytes',
    ],
    // `eventual` without a failed check: only what is deleted shows late.
    ['listConsistency', holds.listConsistency !== null, 'listings have what was just uploaded'],
  ] as const;
  const missing = needed
    .filter(([, holdsTrue]) => !holdsTrue)
    .map(([fact, , what]) => `does not show that ${what} (holds.${fact}). ${probeAgain}`);
  if (warnings.includes('largest-upload') && holds.maxPutBytes === null)
    missing.push(`found no size of upload that the store takes with --largest. ${probeAgain}`);
  return missing;
}

/** The store decides by its own clock when a URL expires, and the URL must not outlive its reservation. */
function clockConflict(settings: StageSettings, { holds }: StoreProfile): string | undefined {
  const { reservationSlackMs, clockSkewMs } = settingsOf(settings.protocol);
  const behindMs = -(holds.clockSkewMs ?? 0);
  const behindMaxMs = reservationSlackMs - clockSkewMs;
  if (behindMs <= behindMaxMs) return undefined;
  return (
    `says that the store's clock is ${Math.round(behindMs / 1000)} s behind: more than ${behindMaxMs / 1000} s, and ` +
    'it accepts uploads for which no room is kept any more. Set the clocks of the store and of the machine that ' +
    `probes it by NTP. ${probeAgain}`
  );
}
