import { z } from 'zod';
import type { StoreProfile } from '../../cli/doctor/profile.ts';
import { conflictsOf } from './stage-checks.ts';
import { everySetting, type StageSettings } from './stage-settings.ts';
import { conflictsWithProfile, objectMaxMiBOf, readStoreProfile } from './store-profile.ts';

/** The settings of a stage, with the checks between them. */
export const stageSettingsSchema = everySetting.superRefine((settings, context) => {
  for (const { path, message } of conflictsOf(settings))
    context.addIssue({ code: 'custom', path: [...path], message });
});

/** The settings of a stage are invalid. The message has one line for each setting, with the reason. */
export class StageSettingsError extends Error {
  override readonly name = 'StageSettingsError';
}

/**
 * Checks a stage's settings and fills in the defaults.
 * @throws {StageSettingsError} that names every invalid setting.
 */
export function parseStageSettings(stage: string, input: unknown): StageSettings {
  if (!/^[a-z][a-z0-9-]{0,19}$/.test(stage)) {
    throw new StageSettingsError(
      `"${stage}" is not a stage name: at most 20 lower-case letters, digits and hyphens, a letter first.`,
    );
  }
  const parsed = stageSettingsSchema.safeParse(input);
  if (parsed.success) return withProfile(stage, parsed.data, input);
  throw invalid(stage, parsed.error.issues, parsed.error);
}

/** Checks the settings by what is known of the store, and takes from it what they leave open. */
function withProfile(stage: string, settings: StageSettings, input: unknown): StageSettings {
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
): StageSettingsError {
  const lines = issues.map(({ path, message }) => `  ${path.join('.') || '(all)'}: ${message}`);
  return new StageSettingsError(`The settings of stage "${stage}" are invalid:\n${lines.join('\n')}`, {
    cause,
  });
}
