import { defaultSettings, type Settings } from './settings.ts';

/**
 * Settings on their way to a deployed function: a JSON object of those that differ from the defaults, so that a
 * stage that changes none hands over nothing.
 */

/** Undefined where nothing differs. */
export function settingsToJson(settings: Settings): string | undefined {
  const names = Object.keys(defaultSettings) as (keyof Settings)[];
  const changed = names.filter((name) => settings[name] !== defaultSettings[name]);
  if (changed.length === 0) return undefined;
  return JSON.stringify(Object.fromEntries(changed.map((name) => [name, settings[name]])));
}

/**
 * The defaults with what the text changes.
 * @throws {Error} that names what is wrong: a function with half of its settings must not start.
 */
export function settingsFromJson(text: string | undefined): Settings {
  if (text === undefined) return defaultSettings;
  const changes = objectOf(text);
  for (const [name, value] of Object.entries(changes)) {
    if (!Object.hasOwn(defaultSettings, name)) throw new Error(`"${name}" is no setting of this version.`);
    if (!Number.isSafeInteger(value) || Number(value) < 0)
      throw new Error(`"${name}" must be a whole number, 0 or more; it is ${JSON.stringify(value)}.`);
  }
  return { ...defaultSettings, ...changes };
}

function objectOf(text: string): object {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new Error('It is no JSON.', { cause });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new Error('It is no JSON object.');
  return parsed;
}
