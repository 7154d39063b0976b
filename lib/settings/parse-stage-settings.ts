import { conflictsOf } from './stage-checks.ts';
import { everySetting, type StageSettings } from './stage-settings.ts';

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
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => `  ${issue.path.join('.') || '(all)'}: ${issue.message}`);
  throw new StageSettingsError(`The settings of stage "${stage}" are invalid:\n${lines.join('\n')}`, {
    cause: parsed.error,
  });
}
