import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { type StoreProfile, storeProfileSchema } from '../../cli/doctor/profile.ts';
import { reconcileCollapseMs } from '../../lambda/core/ledger/rules/reconcile-policy.ts';
import { conflictsOfAdopted } from '../../lambda/core/store/rules/adopted-repos.ts';
import { type StoreKind, storeKindOf } from '../../lambda/core/store/rules/store-kind.ts';
import { concurrencyConflict } from './concurrency.ts';
import {
  type DeploymentSettings,
  type DeploymentSettingsInput,
  everySetting,
} from './deployment-settings.ts';
import { settingsOf } from './protocol-settings.ts';

/** A setting that does not fit another one. */
interface Conflict {
  readonly path: readonly string[];
  readonly message: string;
}

const collapseSeconds = reconcileCollapseMs / 1000;

/**
 * What must hold between the settings of a stage. Otherwise the protocol of docs/how-it-works.md breaks: usage may be
 * counted too low, or a reconcile may be lost.
 */
function conflictsOf(settings: DeploymentSettings): Conflict[] {
  const { alarms, domain, objectStore, protocol, reconcile, refreshEveryMinutes, throttle } = settings;
  const conflicts: Conflict[] = [];
  const conflict = (path: string, message: string) => conflicts.push({ path: path.split('.'), message });

  /** What lies elsewhere would fail minutes into the deployment, or at the first request. */
  const compareArn = (path: string, arn: string) => {
    const [, , , region = '', account = ''] = arn.split(':');
    if (settings.region !== undefined && region !== settings.region)
      conflict(path, `must be in the deployment's region, ${settings.region}, not in ${region}`);
    if (settings.account !== undefined && account !== settings.account)
      conflict(path, `must be in the deployment's account, ${settings.account}, not in ${account}`);
  };

  const delaySecondsMin = collapseSeconds + protocol.clockSkewSeconds;
  if (reconcile.delaySeconds < delaySecondsMin)
    conflict(
      'reconcile.delaySeconds',
      `must be ${delaySecondsMin} or more with protocol.clockSkewSeconds ${protocol.clockSkewSeconds}: ` +
        `triggers in the same ${collapseSeconds} s share one message, which must start after all of them`,
    );

  const tooFew = concurrencyConflict(settings);
  if (tooFew) conflict('accountConcurrency', tooFew);

  for (const [rate, burst] of [
    ['requestsPerSecond', 'burst'],
    ['managementRequestsPerSecond', 'managementBurst'],
    ['otherRequestsPerSecond', 'otherBurst'],
  ] as const)
    if ((throttle[rate] === 0) !== (throttle[burst] === 0))
      conflict(
        `throttle.${burst}`,
        `must be 0 if throttle.${rate} is 0, and only then: with one of them 0 no request passes`,
      );

  if (protocol.idleRefreshMaxDays * 24 < protocol.maxAgeHours)
    conflict(
      'protocol.idleRefreshMaxDays',
      `must be ${Math.ceil(protocol.maxAgeHours / 24)} or more with protocol.maxAgeHours ${protocol.maxAgeHours}: an idle tenant isn't updated more often than a busy one`,
    );

  for (const name of ['email', 'monthlyDollars'] as const)
    if (settings.monitoring === 'none' && alarms[name] !== undefined)
      conflict(`alarms.${name}`, 'needs monitoring basic or full: with none nothing is sent');

  const oldestHours = protocol.maxAgeHours + refreshEveryMinutes / 60;
  if (alarms.reconcileAgeHours <= oldestHours)
    conflict(
      'alarms.reconcileAgeHours',
      `must be ${Math.floor(oldestHours) + 1} or more with protocol.maxAgeHours ${protocol.maxAgeHours} and ` +
        `refreshEveryMinutes ${refreshEveryMinutes}: usage normally gets that old`,
    );

  if (domain) compareArn('domain.certificateArn', domain.certificateArn);
  if (objectStore.kind === 'external')
    compareArn('objectStore.credentialsSecretArn', objectStore.credentialsSecretArn);

  if (objectStore.kind === 'bucket' && objectStore.cdn)
    compareArn('objectStore.cdn.privateKeyArn', objectStore.cdn.privateKeyArn);
  for (const [path, message] of bucketConflicts(settings)) conflict(path, message);
  for (const { index, message } of conflictsOfAdopted(settings.adoptedRepos))
    conflict(`adoptedRepos.${index}`, message);
  return conflicts;
}

/** Regions without CloudFront, or without the access control that a bucket behind it needs. */
const withoutCdn = /^(us-gov|cn|us-iso\w?|eu-isoe)-/;

function* bucketConflicts({ objectStore, region, storeEvents }: DeploymentSettings) {
  const isOwn = objectStore.kind === 'bucket' && objectStore.existingBucket === undefined;
  if (storeEvents && !isOwn)
    yield [
      'storeEvents',
      "must be false with an external store or objectStore.existingBucket: events come only from the stack's own bucket",
    ] as const;
  if (objectStore.kind === 'external') return;
  if (!isOwn && objectStore.keepDeletedDays > 0)
    yield [
      'objectStore.keepDeletedDays',
      'must be left out with existingBucket: it keeps its own versions',
    ] as const;
  // The command line of the CDK sets the variable.
  const place = region ?? process.env['CDK_DEFAULT_REGION'] ?? '';
  if (objectStore.cdn && withoutCdn.test(place))
    yield [
      'objectStore.cdn',
      `must be left out in ${place}, which lacks CloudFront or a part of it`,
    ] as const;
}

const mib = 1024 ** 2;
const probeAgain = 'Run `npx lfs-quota doctor … --profile FILE` again';

/**
 * What `lfs-quota doctor --profile FILE` wrote about the stage's store.
 *
 * @throws {Error} when the file is not readable, or no profile. The message says what to do.
 */
function readStoreProfile(file: string): StoreProfile {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new Error(`can't be read as JSON (${cause}). ${probeAgain}`, { cause });
  }
  const parsed = storeProfileSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new Error(`isn't a profile of this version (${z.prettifyError(parsed.error)}). ${probeAgain}`);
}

/**
 * The largest object that a store is known to take, as `protocol.objectMaxMiB`; undefined if nothing larger was refused.
 * A profile of `--largest 1GiB` that was accepted says nothing of what is larger.
 */
function objectMaxMiBOf({ holds, warnings }: StoreProfile): number | undefined {
  const isRefusedAbove = warnings.includes('largest-upload') && holds.maxPutBytes !== null;
  return isRefusedAbove ? Math.floor((holds.maxPutBytes ?? 0) / mib) : undefined;
}

/** Why a stage cannot work with a store of which this is known. */
function conflictsWithProfile(settings: DeploymentSettings, profile: StoreProfile): Conflict[] {
  if (settings.objectStore.kind !== 'external') return [];
  const other = isOfOtherStore(settings.objectStore, profile);
  const path = ['objectStore', 'profile'];
  // What is wrong with another store says nothing about this one.
  if (other !== undefined) return [{ path, message: other }];
  const conflicts = unusable(profile).map((message) => ({ path, message }));
  const behind = clockConflict(settings, profile);
  if (behind !== undefined) conflicts.push({ path, message: behind });
  if (profile.holds.partRules.multipart === false && settings.exports.workers !== 0) {
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
  return `is for another store: ${probed}. ${probeAgain}, with the deployment's endpoint, region and bucket`;
}

/** What the accounting relies on, and this store does not do or was not asked for. */
function unusable({ usable, failed, holds, warnings, probedAt }: StoreProfile): string[] {
  if (!usable || failed.length > 0) {
    return [
      `shows that the store can't be used: it failed ${failed.join(', ') || 'a check'} (${probedAt}). ${probeAgain} to see why, or choose another store`,
    ];
  }
  const needed = [
    ['checksumEnforced', holds.checksumEnforced === true, 'uploads of other bytes are refused'],
    ['lengthEnforced', holds.lengthEnforced === true, 'uploads of another length are refused'],
    [
      'startAfter',
      holds.startAfter === 'exact' || holds.startAfter === 'inside-prefix',
      'listings can start after a key',
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
    .map(([fact, , what]) => `doesn't show that ${what} (holds.${fact}). ${probeAgain}`);
  if (warnings.includes('largest-upload') && holds.maxPutBytes === null)
    missing.push(`found no size of upload that the store takes with --largest. ${probeAgain}`);
  return missing;
}

/** The store decides by its own clock when a URL expires, and the URL must not outlive its reservation. */
function clockConflict(settings: DeploymentSettings, { holds }: StoreProfile): string | undefined {
  const { reservationSlackMs, clockSkewMs } = settingsOf(settings.protocol);
  const behindMs = -(holds.clockSkewMs ?? 0);
  const behindMaxMs = reservationSlackMs - clockSkewMs;
  if (behindMs <= behindMaxMs) return undefined;
  return `shows that the store's clock is ${Math.round(behindMs / 1000)} s behind: more than ${behindMaxMs / 1000} s, so it accepts uploads after their reservation ends. Sync the clocks of the store and of the machine that tests it by NTP. ${probeAgain}`;
}

/** What the stage's store does with parts. @throws {Error} if the profile is not readable. */
export function exportStoreOf(store: DeploymentSettings['objectStore']): StoreKind {
  if (store.kind === 'bucket') return 's3';
  const profile = store.profile === undefined ? undefined : readStoreProfile(store.profile);
  return storeKindOf(store.endpoint, profile?.holds.partRules.uploadPartCopy ?? null);
}

/** The settings of a stage, with the checks between them. */
export const deploymentSettingsSchema = everySetting.superRefine((settings, context) => {
  for (const { path, message } of conflictsOf(settings))
    context.addIssue({ code: 'custom', path: [...path], message });
});

/** The settings of a stage are invalid. The message has one line for each setting, with the reason. */
export class DeploymentSettingsError extends Error {
  override readonly name = 'StageSettingsError';
}

/**
 * Checks a stage's settings and fills in the defaults.
 * @throws {DeploymentSettingsError} that names every invalid setting.
 */
export function parseDeploymentSettings(stage: string, input: unknown): DeploymentSettings {
  if (!/^[a-z][a-z0-9-]{0,19}$/.test(stage)) {
    throw new DeploymentSettingsError(
      `"${stage}" isn't a valid name: up to 20 lower-case letters, digits and hyphens, starting with a letter.`,
    );
  }
  const parsed = deploymentSettingsSchema.safeParse(input);
  if (parsed.success) return withProfile(stage, parsed.data, input);
  throw invalid(stage, parsed.error.issues, parsed.error);
}

/** Checks the settings by what is known of the store, and takes from it what they leave open. */
function withProfile(stage: string, settings: DeploymentSettings, input: unknown): DeploymentSettings {
  const { objectStore, protocol } = settings;
  if (objectStore.kind !== 'external' || objectStore.profile === undefined) return settings;
  const path = ['objectStore', 'profile'];
  let profile: StoreProfile;
  try {
    profile = readStoreProfile(objectStore.profile);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw invalid(stage, [{ path, message }], cause);
  }
  const isGiven = givenProtocol.safeParse(input).data?.protocol?.objectMaxMiB !== undefined;
  const objectMaxMiB = (isGiven ? undefined : objectMaxMiBOf(profile)) ?? protocol.objectMaxMiB;
  const decided = { ...settings, protocol: { ...protocol, objectMaxMiB } };
  const conflicts = conflictsWithProfile(decided, profile);
  if (conflicts.length > 0) throw invalid(stage, conflicts);
  return decided;
}

/** Tells a setting that was given from its default. */
const givenProtocol = z.object({ protocol: z.object({ objectMaxMiB: z.unknown() }).optional() });

function invalid(
  stage: string,
  issues: readonly { path: readonly PropertyKey[]; message: string }[],
  cause?: unknown,
): DeploymentSettingsError {
  const lines = issues.map(({ path, message }) => `  ${path.join('.') || '(all)'}: ${message}`);
  return new DeploymentSettingsError(`The settings of "${stage}" are invalid:\n${lines.join('\n')}`, {
    cause,
  });
}

/** The stages that `-c stage=NAME` chooses from. A setting that is left out has its default. */
const stages: Readonly<Record<string, DeploymentSettingsInput>> = {
  /**
   * For trials: deleting the stack deletes its data. Its bucket must be emptied before. A new account runs ten functions
   * at once: this leaves one of them to the API, even if everything runs in the background.
   */
  dev: {
    keepData: false,
    canary: false,
    logRetentionDays: 7,
    accountConcurrency: 10,
    monitoring: 'basic',
  },
  prod: { objectStore: { kind: 'bucket', keepDeletedDays: 7 } },
};

/**
 * The settings of a stage, from the table above. With `settingsFile` they come from that JSON file instead, so
 * that nobody has to edit a tracked file.
 * @throws {DeploymentSettingsError} when the stage is unknown, or its settings are unreadable or invalid.
 */
export function deploymentSettings(stage: string, settingsFile?: string): DeploymentSettings {
  if (settingsFile !== undefined) return parseDeploymentSettings(stage, readSettingsFile(settingsFile));
  if (!Object.hasOwn(stages, stage)) {
    throw new DeploymentSettingsError(
      `"${stage}" isn't defined. Known: ${Object.keys(stages).join(', ')}. Add it to lib/settings/stages.ts, or pass its settings with -c settings=FILE.json.`,
    );
  }
  return parseDeploymentSettings(stage, stages[stage]);
}

function readSettingsFile(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new DeploymentSettingsError(`The settings file ${path} can't be read as JSON: ${cause}`, { cause });
  }
}
