import { readFileSync } from 'node:fs';
import { parseStageSettings, StageSettingsError } from './parse-stage-settings.ts';
import type { StageSettings, StageSettingsInput } from './stage-settings.ts';

/** The stages that `-c stage=NAME` chooses from. What a stage leaves out has the default of stage-settings.ts. */
const stages: Readonly<Record<string, StageSettingsInput>> = {
  /** To try things out: deleting the stack deletes its data. */
  dev: { keepData: false, logRetentionDays: 7 },
  prod: {},
};

/**
 * The settings of a stage: from the table above or, with `settingsFile`, from a JSON file in its place, for
 * those who would rather not edit a tracked file.
 * @throws {StageSettingsError}
 */
export function stageSettings(stage: string, settingsFile?: string): StageSettings {
  if (settingsFile !== undefined) return parseStageSettings(stage, readSettingsFile(settingsFile));
  if (!Object.hasOwn(stages, stage)) {
    throw new StageSettingsError(
      `There is no stage "${stage}". Known: ${Object.keys(stages).join(', ')}. ` +
        'Add it to lib/settings/stages.ts, or give its settings with -c settings=FILE.json.',
    );
  }
  return parseStageSettings(stage, stages[stage]);
}

function readSettingsFile(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new StageSettingsError(`The settings file ${path} can't be read as JSON: ${cause}`, { cause });
  }
}
