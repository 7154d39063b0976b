import { readFileSync } from 'node:fs';
import { parseStageSettings, StageSettingsError } from './parse-stage-settings.ts';
import type { StageSettings, StageSettingsInput } from './stage-settings.ts';

/** The stages that `-c stage=NAME` chooses from. A setting that is left out has its default. */
const stages: Readonly<Record<string, StageSettingsInput>> = {
  /**
   * For trials: deleting the stack deletes its data. Its bucket must be emptied before. A new account runs ten functions
   * at once: this leaves three of them to the API, whatever runs in the background.
   */
  dev: {
    keepData: false,
    logRetentionDays: 7,
    reconcile: { concurrency: 2, shardWorkers: 0 },
    exports: { workers: 2 },
  },
  prod: { objectStore: { kind: 'bucket', keepDeletedDays: 7 } },
};

/**
 * The settings of a stage, from the table above. With `settingsFile` they come from that JSON file instead, so
 * that nobody has to edit a tracked file.
 * @throws {StageSettingsError} when the stage is unknown, or its settings are unreadable or invalid.
 */
export function stageSettings(stage: string, settingsFile?: string): StageSettings {
  if (settingsFile !== undefined) return parseStageSettings(stage, readSettingsFile(settingsFile));
  if (!Object.hasOwn(stages, stage)) {
    throw new StageSettingsError(
      `There is no stage "${stage}". Known: ${Object.keys(stages).join(', ')}. ` +
        'Add it to lib/settings/stages.ts, or pass its settings with -c settings=FILE.json.',
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
