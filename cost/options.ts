/** What the commands of the cost model do with their options. */

/** An option has a value that makes no sense. The message says what it must be. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** @throws {UsageError} */
export function wholeNumber(
  name: string,
  text: string | undefined,
  { least, otherwise }: { least: number; otherwise: number },
): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || text.trim() === '' || value < least)
    throw new UsageError(`${name} must be a whole number, at least ${least}. It is "${text}".`);
  return value;
}

/** @throws {UsageError} */
export function positiveNumber(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0)
    throw new UsageError(`${name} must be a number above 0. It is "${text}".`);
  return value;
}

/** A line for each option. */
export function helpOf(options: Readonly<Record<string, { readonly help: string }>>): string {
  return Object.entries(options)
    .map(([name, { help }]) => `  --${name.padEnd(23)} ${help}`)
    .join('\n');
}
