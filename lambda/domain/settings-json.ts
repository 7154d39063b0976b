import { defaultSettings, type Settings } from './settings.ts';

/**
 * Settings as a stage hands them to its functions: a JSON object of those that differ from the defaults. A stage that
 * changes nothing hands over nothing.
 */

/** @returns undefined if nothing differs from the defaults. */
export function settingsToJson(settings: Settings): string | undefined {
  const names = Object.keys(defaultSettings) as (keyof Settings)[];
  const changed = names.filter((name) => settings[name] !== defaultSettings[name]);
  if (changed.length === 0) return undefined;
  return JSON.stringify(Object.fromEntries(changed.map((name) => [name, settings[name]])));
}

/**
 * The defaults, with the changes in the text.
 * @throws {Error} with a message that names what is wrong. A function with half of its settings must not start.
 */
export function settingsFromJson(text: string | undefined): Settings {
  if (text === undefined) return defaultSettings;
  const changes = objectOf(text);
  for (const [name, value] of Object.entries(changes)) {
    if (!Object.hasOwn(defaultSettings, name)) throw new Error(`"${name}" is not a setting of this version.`);
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
    throw new Error('It is not valid JSON.', { cause });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new Error('It is not a JSON object.');
  return parsed;
}
