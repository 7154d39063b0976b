import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { functionSpecs } from '../../../lib/functions/function-specs.ts';
import { parseStageSettings } from '../../../lib/settings/parse-stage-settings.ts';
import { codeSpans, filesBelow, readText, root } from './pages.ts';

/** A row of the table "Timeouts, retries and limits". */
interface Row {
  readonly what: string;
  readonly value: string;
  readonly file: string;
  /** A constant or field of the file. With a dot: a field of a function's spec. */
  readonly name: string;
  readonly setting: string | undefined;
}

function readRows(): Row[] {
  const page = readText('docs/architecture.md');
  const [, section = ''] = page.split('\n## Timeouts, retries and limits\n');
  const lines = section.split('\n').filter((line) => /^\| [^|]+ \| [^|]+ \| `/.test(line));
  return lines.map((line) => {
    const [what = '', value = '', where = '', setting = ''] = line.slice(2, -1).split(' | ');
    const [file = '', name = ''] = codeSpans(where);
    return { what, value, file, name, setting: codeSpans(setting)[0] };
  });
}

const rows = readRows();

/** Times are compared in ms, sizes in bytes. */
const units: Readonly<Record<string, number>> = {
  '': 1,
  ms: 1,
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  days: 86_400_000,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

/** NaN for a cell that is no number with a unit. */
function readValue(cell: string): number {
  const [, digits = '', unit = ''] = /^([\d,.]+) ?([A-Za-z]*)$/.exec(cell) ?? [];
  return digits === '' ? Number.NaN : Number(digits.replaceAll(',', '')) * (units[unit] ?? Number.NaN);
}

/** The unit in which a name counts. */
function unitOf(name: string): number {
  if (/seconds$|^retry-after$/i.test(name)) return 1000;
  if (/minutes$/i.test(name)) return 60_000;
  if (/hours$/i.test(name)) return 3_600_000;
  if (/days$/i.test(name)) return 86_400_000;
  if (/GiB$/.test(name)) return 1024 ** 3;
  return /MiB$/.test(name) ? 1024 ** 2 : 1;
}

/** Names that stand in the code for a number. */
const named: Readonly<Record<string, number>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  minuteMs: 60_000,
  hourMs: 3_600_000,
  deleteRunMs: 60_000,
  timeoutFactor: 1,
};

/** A sum of products of powers, such as `5 * 1024 ** 3`, or a CDK duration. NaN for anything else. */
function evaluate(expression: string): number {
  const [, unit, count] = /^Duration\.(\w+)\((\d+)\)$/.exec(expression) ?? [];
  if (unit !== undefined) return Number(count) * unitOf(unit);
  const atom = (text: string) => named[text.trim()] ?? Number(text.replaceAll(/[_']/g, '') || Number.NaN);
  const power = (text: string) =>
    text
      .split('**')
      .map(atom)
      .reduceRight((exponent, base) => base ** exponent);
  const product = (text: string) =>
    text.split(/(?<!\*)\*(?!\*)/).reduce((total, factor) => total * power(factor), 1);
  return expression.split('+').reduce((sum, term) => sum + product(term), 0);
}

/** Every number that a file gives a name: `name = 1`, `name: 1`, `name ?? 1`. */
function numbersIn(file: string, name: string): number[] {
  const given = new RegExp(
    `(?<!\\w)'?${name}'?\\s*(?:=|:|\\?\\?)\\s*(Duration\\.\\w+\\(\\d+\\)|[^,;\\n})]+)`,
    'g',
  );
  return [...readText(file).matchAll(given)].map(
    ([, expression = '']) => evaluate(expression.trim()) * unitOf(name),
  );
}

/** The time limit of a function, by the name of its spec. */
function timeLimitMs(functionName: string): number {
  const [, spec] = Object.entries(functionSpecs).find(([name]) => name === functionName) ?? [];
  return (spec?.timeoutSeconds ?? Number.NaN) * 1000;
}

/** The default of a setting such as `reconcile.attemptsMax`. */
function defaultOf(setting: string): number {
  const value = setting
    .split('.')
    .reduce<unknown>(
      (group, key) => (typeof group === 'object' && group !== null ? Reflect.get(group, key) : undefined),
      parseStageSettings('prod', {}),
    );
  return Number(value) * unitOf(setting);
}

/** Computed from other values, so that the source has no number to compare with. */
const computed: ReadonlySet<string> = new Set(['visibilityTimeout']);

/** Constants that bound nothing which runs: units, and numbers that only name something. */
const noLimits: ReadonlySet<string> = new Set(['minuteMs', 'hourMs', 'dayMs', 'portMax']);

describe('the limits in docs/architecture.md', () => {
  it('are a table with readable values', () => {
    expect(rows.length).toBeGreaterThan(120);
    expect(rows.filter(({ value }) => Number.isNaN(readValue(value)))).toEqual([]);
  });

  it.each(rows)('$what: $name in $file', ({ value, file, name, setting }) => {
    expect(existsSync(path.join(root, file)), file).toBe(true);
    const [owner = '', field] = name.split('.');
    expect(readText(file)).toMatch(new RegExp(`(?<!\\w)${field ?? owner}(?!\\w)`));
    if (setting !== undefined) expect(defaultOf(setting), setting).toBe(readValue(value));
    if (field !== undefined) expect(timeLimitMs(owner)).toBe(readValue(value));
    // The stage's settings give their defaults by a call.
    else if (!computed.has(name) && file !== 'lib/settings/stage-settings.ts')
      expect(numbersIn(file, name)).toContain(readValue(value));
  });

  it('leave no limit of the code out', () => {
    const listed = new Set(rows.map(({ file, name }) => `${file} ${name}`));
    const files = ['cli', 'console', 'lambda', 'lib', 'local']
      .flatMap(filesBelow)
      .filter((file) => /\.tsx?$/.test(file) && !file.startsWith('lambda/domain/scan/'));
    const limits = files.flatMap((file) =>
      [...readText(file).matchAll(/^(?:export )?const (\w*(?:Ms|Max|AtOnce)\w*) = [\d]/gm)]
        .filter(([, name = '']) => !noLimits.has(name))
        .map(([, name = '']) => `${file} ${name}`),
    );
    expect(limits.length).toBeGreaterThan(50);
    expect(limits.filter((limit) => !listed.has(limit))).toEqual([]);
  });
});
