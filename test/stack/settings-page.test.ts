import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deploymentSettingsSchema } from '../../lib/settings/stages.ts';

/** The parts of a setting's JSON schema that the page shows. */
interface Shape {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly oneOf?: readonly Shape[];
  readonly anyOf?: readonly Shape[];
}

interface SettingRow {
  readonly name: string;
  readonly values: string;
  readonly defaultValue: string;
  readonly description: string;
}

/** A row for every setting of a stage, and one for each group of them. */
function settingRows(): SettingRow[] {
  const schema = z.toJSONSchema(deploymentSettingsSchema, { io: 'input', unrepresentable: 'any' }) as Shape;
  return rowsBelow('', schema);
}

function rowsBelow(prefix: string, { properties = {} }: Shape): SettingRow[] {
  return Object.entries(properties).flatMap(([key, shape]) => {
    const name = `${prefix}${key}`;
    const below = [
      ...[shape, ...(shape.oneOf ?? [])].flatMap((each) => rowsBelow(`${name}.`, each)),
      ...(shape.items ? rowsBelow(`${name}[].`, shape.items) : []),
    ];
    return [
      {
        name,
        values: valuesOf(shape),
        defaultValue: defaultOf(shape),
        description: shape.description ?? '',
      },
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
  return isOpen ? `≥ ${minimum}` : `${minimum}–${maximum}`;
}

function defaultOf({ default: value }: Shape): string {
  return value === undefined || typeof value === 'object' ? '' : String(value);
}

/** The whole of docs/settings.md. */
function settingsPage(): string {
  const rows = settingRows();
  const lines = rows.flatMap((row) => {
    const { name, values, defaultValue, description } = row;
    const alike = alikeIn(rows, row);
    // Settings of one kind, such as the memory of each function, share a line.
    if (alike.length > 1 && alike[0] !== row) return [];
    if (alike.length > 1) return [`- **${groupOf(row)}.…** (${values}), ${description} ${defaultsOf(alike)}`];
    const facts = [values, defaultValue && `default ${defaultValue}`].filter(Boolean).join('; ');
    return [`- **${name}**${facts && ` (${facts})`}${description && `: ${description}`}`];
  });
  return `# Settings

[Deploy](deploy.md#settings) explains where to put them, and what to decide first. \`cdk synth\` lists every invalid setting.

*Generated from \`lib/settings/\`: \`npx vitest run test/stack/settings-page.test.ts -u\` rewrites it.*

${lines.join('\n')}
`;
}

const groupOf = ({ name }: SettingRow) => name.split('.').slice(0, -1).join('.');

/** The settings of a row's group that have its values and description. */
function alikeIn(rows: readonly SettingRow[], row: SettingRow): readonly SettingRow[] {
  return rows.filter(
    (other) =>
      row.values !== '' &&
      groupOf(other) === groupOf(row) &&
      other.values === row.values &&
      other.description === row.description,
  );
}

function defaultsOf(rows: readonly SettingRow[]): string {
  return `Defaults: ${rows.map(({ name, defaultValue }) => `${name.split('.').at(-1)} ${defaultValue}`).join(', ')}.`;
}

const page = fileURLToPath(new URL('../../docs/settings.md', import.meta.url));

describe('docs/settings.md', () => {
  it('finds a description of every setting', () => {
    const rows = settingRows();
    expect(rows.length).toBeGreaterThan(50);
    expect(rows.filter(({ description }) => description === '').map(({ name }) => name)).toEqual([]);
  });

  it('shows every setting with its description', async () => {
    await expect(settingsPage()).toMatchFileSnapshot(page);
  });
});
