import { parseArgs } from 'node:util';

/** @throws {Error} that says what is allowed. */
export function readNumbers<Name extends string>(
  args: readonly string[],
  defaults: Readonly<Record<Name, number>>,
): Record<Name, number> {
  const names = Object.keys(defaults) as Name[];
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  const { values } = parseArgs({ args: [...args], options });
  const read = (name: Name) => {
    const number = Number(values[name] ?? defaults[name]);
    if (!(number >= 0 && number <= 1e12)) throw new Error(`--${name} takes a number, not '${values[name]}'.`);
    return [name, number] as const;
  };
  return Object.fromEntries(names.map(read)) as Record<Name, number>;
}
