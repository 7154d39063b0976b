import type { Fields } from './expressions.ts';

/**
 * Items as JavaScript has them, and as DynamoDB's JSON has them: each value in an object that names its type.
 *
 * What is stored: strings, numbers up to 2^53, booleans, null, lists and maps. Text and lists may be empty.
 */
type Attribute =
  | { readonly S: string }
  | { readonly N: string }
  | { readonly BOOL: boolean }
  | { readonly NULL: true }
  | { readonly L: readonly Attribute[] }
  | { readonly M: Attributes };
type Attributes = Readonly<Record<string, Attribute>>;

/**
 * An item for DynamoDB. Fields that are undefined are left out, in lists and maps too.
 *
 * @throws {TypeError} for what no item holds: that is a bug.
 */
export function toAttributes(fields: Fields): Attributes {
  const attributes: [string, Attribute][] = [];
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined) attributes.push([name, toAttribute(value)]);
  return Object.fromEntries(attributes);
}

function toAttribute(value: unknown): Attribute {
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'number') return { N: digitsOf(value) };
  if (typeof value === 'boolean') return { BOOL: value };
  if (value === null) return { NULL: true };
  if (Array.isArray(value)) return { L: value.filter((each) => each !== undefined).map(toAttribute) };
  if (isPlainObject(value)) return { M: toAttributes(value) };
  throw new TypeError(`No item holds a ${kindOf(value)}: store text, numbers, lists and plain objects.`);
}

function digitsOf(value: number): string {
  if (Number.isFinite(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER) return String(value);
  throw new TypeError(`No item holds the number ${value}: it is not exact.`);
}

/**
 * The fields of an item that DynamoDB answers with. A value of a type that is not stored is left in DynamoDB's form: a
 * newer version may have written it, and what parses the item refuses it where it matters.
 */
export function fromAttributes(attributes: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, attribute]) => [name, fromAttribute(attribute)]),
  );
}

function fromAttribute(attribute: unknown): unknown {
  const { S, N, BOOL, NULL, L, M } = (attribute ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof S === 'string') return S;
  if (typeof N === 'string') return numberIn(N);
  if (typeof BOOL === 'boolean') return BOOL;
  if (NULL === true) return null;
  if (Array.isArray(L)) return L.map(fromAttribute);
  if (typeof M === 'object' && M !== null) return fromAttributes(M);
  return attribute;
}

/** A bigint beyond 2^53, where a number would be another one. What parses the item refuses it. */
function numberIn(digits: string): number | bigint {
  const value = Number(digits);
  return Math.abs(value) > Number.MAX_SAFE_INTEGER && /^-?\d+$/.test(digits) ? BigInt(digits) : value;
}

function isPlainObject(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function kindOf(value: unknown): string {
  return typeof value === 'object' ? (value?.constructor.name ?? 'object') : typeof value;
}
