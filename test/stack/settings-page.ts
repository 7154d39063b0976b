import { z } from 'zod';
import { stageSettingsSchema } from '../../lib/settings/parse-stage-settings.ts';

/** What the JSON schema of a setting has, as far as the page shows it. */
interface Shape {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly oneOf?: readonly Shape[];
  readonly anyOf?: readonly Shape[];
}

export interface SettingRow {
  readonly name: string;
  readonly values: string;
  readonly usual: string;
  readonly what: string;
}

/** A row for every setting of a stage, and one for each group of them. */
export function settingRows(): SettingRow[] {
  const schema = z.toJSONSchema(stageSettingsSchema, { io: 'input', unrepresentable: 'any' }) as Shape;
  return rowsBelow('', schema);
}

function rowsBelow(prefix: string, { properties = {} }: Shape): SettingRow[] {
  return Object.entries(properties).flatMap(([key, shape]) => {
    const name = `${prefix}${key}`;
    const below = [shape, ...(shape.oneOf ?? [])].flatMap((each) => rowsBelow(`${name}.`, each));
    return [
      { name, values: valuesOf(shape), usual: usualOf(shape), what: shape.description ?? '' },
      ...below,
    ];
  });
}

function valuesOf({ type, minimum, maximum, enum: names, const: only, anyOf = [] }: Shape): string {
  if (names) return names.join(', ');
  if (only !== undefined) return String(only);
  if (anyOf.length > 0) return anyOf.map(valuesOf).join(', ');
  if (type !== 'integer') return type === 'boolean' ? 'true, false' : '';
  const isOpen = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER;
  return isOpen ? `${minimum} or more` : `${minimum} to ${maximum}`;
}

function usualOf({ default: usual }: Shape): string {
  return usual === undefined || typeof usual === 'object' ? '' : String(usual);
}

/** The whole of docs/settings.md. */
export function settingsPage(): string {
  const cell = (text: string) => (text === '' ? '–' : text.replaceAll('|', '\\|'));
  const rows = settingRows().map(
    ({ name, values, usual, what }) => `| ${name} | ${cell(values)} | ${cell(usual)} | ${cell(what)} |`,
  );
  return `# The settings of a stage

All of them, as \`lib/settings/stage-settings.ts\` says what they are; docs/operations.md tells how to give them. A setting that is
left out has its default. One that is wrong, or does not go with another, fails the synth with its name.

*This page is made from the settings themselves: \`npx vitest run test/stack/settings-page.test.ts -u\` writes it anew.*

| setting | values | default | what it is for |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}
