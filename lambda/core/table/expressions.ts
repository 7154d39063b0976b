import { stored } from './stored-names.ts';

/**
 * DynamoDB's expressions. Every attribute goes by its alias, `#name` for `name`, since many plain names are
 * reserved words.
 */

export type Fields = Readonly<Record<string, unknown>>;

/** A clause of an update expression, with what its placeholders stand for. */
export interface Clause {
  /** Empty if there is nothing to change. */
  readonly text: string;
  /** `:name` → value. */
  readonly values?: Fields;
  /** `#alias` → the key of a map, for aliases that are no attribute's name. */
  readonly keys?: Readonly<Record<string, string>>;
}

/**
 * SET all of `fields`, those of `defaults` that the item does not have yet, and `copies`: to the value of another of
 * the item's attributes. `appends` go to the end of lists, which begin if there are none. A field that is undefined stays as it is. The value of `#name` is `:name`.
 */
export function setting(
  fields: Fields,
  {
    defaults = {},
    copies = {},
    appends = {},
  }: {
    defaults?: Fields;
    copies?: Readonly<Record<string, string>>;
    appends?: Readonly<Record<string, readonly unknown[]>>;
  } = {},
): Clause {
  const given = definedOf(stored(fields));
  const ifAbsent = stored(defaults);
  const appended = stored(appends);
  const assignments = [
    ...Object.keys(given).map((name) => `#${name} = :${name}`),
    ...Object.keys(ifAbsent).map((name) => `#${name} = if_not_exists(#${name}, :${name})`),
    ...Object.entries(copies).map(([name, from]) => `#${name} = #${from}`),
    ...Object.keys(appended).map(
      (name) => `#${name} = list_append(if_not_exists(#${name}, :none), :${name})`,
    ),
  ];
  const none = Object.keys(appended).length > 0 && { none: [] };
  return {
    text: clauseText('SET', assignments),
    values: valuesOf({ ...given, ...ifAbsent, ...appended, ...none }),
  };
}

/** ADD to numbers. The amount for `#name` is `:name`. */
export function adding(amounts: Readonly<Record<string, number>>): Clause {
  const added = stored(amounts);
  const additions = Object.keys(added).map((name) => `#${name} :${name}`);
  return { text: clauseText('ADD', additions), values: valuesOf(added) };
}

/** REMOVE attributes. */
export function removing(...names: readonly string[]): Clause {
  const aliases = names.map((name) => `#${name}`);
  return { text: clauseText('REMOVE', aliases) };
}

/**
 * Attributes whose names may hold any characters, by short aliases: there can be many, and an expression has a limit.
 *
 * @param alias of letters. Each attribute gets a number behind it.
 * @param fields name → its value, or what is added to it.
 */
export function anyNamed(alias: string, fields: Iterable<readonly [name: string, value: unknown]>) {
  const attributes = Object.entries(stored(Object.fromEntries(fields))).map(([name, value], index) => ({
    name,
    value,
    id: `${alias}${index}`,
  }));
  const keys = Object.fromEntries(attributes.map(({ id, name }) => [`#${id}`, name]));
  const values = Object.fromEntries(attributes.map(({ id, value }) => [`:${id}`, value]));
  const clause = (keyword: string, between: string): Clause => ({
    text: clauseText(
      keyword,
      attributes.map(({ id }) => `#${id}${between}:${id}`),
    ),
    values,
    keys,
  });
  return {
    setting: () => clause('SET', '='),
    adding: () => clause('ADD', ' '),
    removing: (): Clause => ({ text: clauseText('REMOVE', Object.keys(keys)), keys }),
  };
}

/** REMOVE keys of an attribute that is a map. They may hold any characters. */
export function removingKeys(map: string, keys: readonly string[]): Clause {
  const paths = keys.map((_, index) => `#${map}.#key${index}`);
  return {
    text: clauseText('REMOVE', paths),
    keys: Object.fromEntries(keys.map((key, index) => [`#key${index}`, key])),
  };
}

/** The clauses as one update expression, which has each keyword once. */
export function updateExpression(change: readonly Clause[]): string {
  const parts = new Map<string, string[]>();
  for (const { text } of change) {
    if (text === '') continue;
    const keyword = text.slice(0, text.indexOf(' '));
    parts.set(keyword, [...(parts.get(keyword) ?? []), text.slice(keyword.length + 1)]);
  }
  return [...parts].map(([keyword, texts]) => clauseText(keyword, texts)).join(' ');
}

/** Conditions that must all hold. */
export function all(...conditions: readonly string[]): string {
  return conditions.join(' AND ');
}

/** The conditions that the item exists, and that it does not. */
export const exists = 'attribute_exists(#pk)';
export const absent = 'attribute_not_exists(#pk)';

/** The condition that a count of changes, which begins without its attribute, is at `:version`. */
export function atVersion(name: string, version: number): string {
  return version === 0 ? `attribute_not_exists(#${name})` : `#${name} = :version`;
}

/** `#name` → `name` for each alias in an expression. */
export function aliasesIn(expression: string): Record<string, string> {
  const names: Record<string, string> = {};
  for (const alias of expression.match(/#\w+/g) ?? []) names[alias] = alias.slice(1);
  return names;
}

/** The fields that are not undefined. */
export function definedOf(fields: Fields): Record<string, unknown> {
  const defined: Record<string, unknown> = {};
  for (const name of Object.keys(fields)) if (fields[name] !== undefined) defined[name] = fields[name];
  return defined;
}

function clauseText(keyword: string, parts: readonly string[]): string {
  return parts.length === 0 ? '' : `${keyword} ${parts.join(', ')}`;
}

function valuesOf(fields: Fields): Fields {
  const values: Record<string, unknown> = {};
  for (const name of Object.keys(fields)) values[`:${name}`] = fields[name];
  return values;
}
