import { compareKeys } from '../../lambda/core/rules/names.ts';

/**
 * DynamoDB's condition and update expressions, as far as the adapters write them.
 *
 * Grammar: docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html and
 * Expressions.UpdateExpressions.html.
 */

export type Item = Readonly<Record<string, unknown>>;

interface Placeholders {
  /** `#alias` → name. */
  readonly names: Readonly<Record<string, string>>;
  /** `:name` → value. */
  readonly values: Item;
}

type Comparator = '=' | '<>' | '<' | '<=' | '>' | '>=';

/** A value: of the item, given, or computed of others. Undefined: there is none. */
export type Operand =
  | { readonly kind: 'path'; readonly path: readonly string[] }
  | { readonly kind: 'value'; readonly name: string }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Operand[] }
  | { readonly kind: 'sum'; readonly left: Operand; readonly sign: 1 | -1; readonly right: Operand };

export type Condition =
  | { readonly kind: 'all' | 'any'; readonly parts: readonly Condition[] }
  | { readonly kind: 'not'; readonly part: Condition }
  | { readonly kind: 'compare'; readonly by: Comparator; readonly left: Operand; readonly right: Operand }
  | { readonly kind: 'between'; readonly of: Operand; readonly from: Operand; readonly to: Operand }
  | { readonly kind: 'in'; readonly of: Operand; readonly options: readonly Operand[] }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Operand[] };

interface Change {
  readonly clause: 'SET' | 'ADD' | 'REMOVE';
  readonly path: readonly string[];
  readonly operand?: Operand;
}

/** An expression is wrong, or does not fit the item: DynamoDB answers ValidationException. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

const conditionFunctions = new Set(['attribute_exists', 'attribute_not_exists', 'begins_with']);
const valueFunctions = new Set(['size', 'if_not_exists', 'list_append']);
const comparators = new Set<string>(['=', '<>', '<', '<=', '>', '>=']);

/** Expressions that were parsed: there are as many as the adapters have texts. */
const conditions = new Map<string, Condition>();
const updates = new Map<string, readonly Change[]>();
/** Beyond it, texts are made of data, and are forgotten. */
const parsedMax = 2_000;

function parsed<T>(known: Map<string, T>, text: string, parse: (tokens: Tokens) => T): T {
  const found = known.get(text);
  if (found !== undefined) return found;
  const tokens = new Tokens(text);
  const made = parse(tokens);
  tokens.end();
  if (known.size >= parsedMax) known.clear();
  known.set(text, made);
  return made;
}

/** @throws {ExpressionError} */
export const parseCondition = (text: string): Condition => parsed(conditions, text, anyOf);

/** @throws {ExpressionError} */
const parseUpdate = (text: string): readonly Change[] => parsed(updates, text, changes);

class Tokens {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = text.match(/[#:]?\w+|<>|<=|>=|\S/g) ?? [];
  }

  get next(): string | undefined {
    return this.#tokens[this.#at];
  }

  take(): string {
    const token = this.next;
    if (token === undefined) throw new ExpressionError('An expression ends too soon.');
    this.#at += 1;
    return token;
  }

  takesIf(token: string): boolean {
    if (this.next !== token) return false;
    this.#at += 1;
    return true;
  }

  expect(token: string): void {
    if (!this.takesIf(token)) throw new ExpressionError(`An expression has ${this.next}, and not ${token}.`);
  }

  list<T>(separator: string, parse: (tokens: Tokens) => T): T[] {
    const parts = [parse(this)];
    while (this.takesIf(separator)) parts.push(parse(this));
    return parts;
  }

  end(): void {
    if (this.next !== undefined) throw new ExpressionError(`An expression has ${this.next} after its end.`);
  }
}

function anyOf(tokens: Tokens): Condition {
  return joined(
    'any',
    tokens.list('OR', () => joined('all', tokens.list('AND', negation))),
  );
}

function joined(kind: 'all' | 'any', parts: readonly Condition[]): Condition {
  return parts.length === 1 ? (parts[0] as Condition) : { kind, parts };
}

function negation(tokens: Tokens): Condition {
  if (tokens.takesIf('NOT')) return { kind: 'not', part: negation(tokens) };
  if (tokens.takesIf('(')) {
    const inner = anyOf(tokens);
    tokens.expect(')');
    return inner;
  }
  if (conditionFunctions.has(tokens.next ?? ''))
    return { kind: 'call', name: tokens.take(), args: callArgs(tokens) };
  const left = operand(tokens);
  if (tokens.takesIf('BETWEEN')) {
    const from = operand(tokens);
    tokens.expect('AND');
    return { kind: 'between', of: left, from, to: operand(tokens) };
  }
  if (tokens.takesIf('IN')) return { kind: 'in', of: left, options: callArgs(tokens) };
  const by = tokens.take();
  if (!comparators.has(by)) throw new ExpressionError(`An expression compares by ${by}.`);
  return { kind: 'compare', by: by as Comparator, left, right: operand(tokens) };
}

function callArgs(tokens: Tokens): Operand[] {
  tokens.expect('(');
  const args = tokens.list(',', operand);
  tokens.expect(')');
  return args;
}

function operand(tokens: Tokens): Operand {
  if (valueFunctions.has(tokens.next ?? ''))
    return { kind: 'call', name: tokens.take(), args: callArgs(tokens) };
  if (tokens.next?.startsWith(':')) return { kind: 'value', name: tokens.take() };
  return { kind: 'path', path: pathOf(tokens) };
}

/** Every attribute goes by an alias, as the adapters write it: DynamoDB reserves many names. */
function pathOf(tokens: Tokens): string[] {
  return tokens.list('.', () => {
    const name = tokens.take();
    if (!name.startsWith('#')) throw new ExpressionError(`An expression names ${name} without an alias.`);
    return name;
  });
}

function changes(tokens: Tokens): Change[] {
  const made: Change[] = [];
  while (tokens.next !== undefined) {
    const clause = tokens.take();
    if (clause !== 'SET' && clause !== 'ADD' && clause !== 'REMOVE')
      throw new ExpressionError(`An update has the clause ${clause}.`);
    made.push(...tokens.list(',', () => change(tokens, clause)));
  }
  return made;
}

function change(tokens: Tokens, clause: Change['clause']): Change {
  const path = pathOf(tokens);
  if (clause === 'REMOVE') return { clause, path };
  if (clause === 'ADD') return { clause, path, operand: operand(tokens) };
  tokens.expect('=');
  const left = operand(tokens);
  const sign = tokens.takesIf('+') ? 1 : tokens.takesIf('-') ? -1 : undefined;
  return {
    clause,
    path,
    operand: sign === undefined ? left : { kind: 'sum', left, sign, right: operand(tokens) },
  };
}

/** Whether a condition holds for an item. One that does not exist has no attributes. */
export function holds(condition: Condition, item: Item, by: Placeholders): boolean {
  switch (condition.kind) {
    case 'all':
      return condition.parts.every((part) => holds(part, item, by));
    case 'any':
      return condition.parts.some((part) => holds(part, item, by));
    case 'not':
      return !holds(condition.part, item, by);
    case 'compare':
      return compares(evaluate(condition.left, item, by), condition.by, evaluate(condition.right, item, by));
    case 'between': {
      const value = evaluate(condition.of, item, by);
      const { from, to } = endsOf(condition, by);
      return compares(value, '>=', from) && compares(value, '<=', to);
    }
    case 'in': {
      const value = evaluate(condition.of, item, by);
      return condition.options.some((option) => compares(value, '=', evaluate(option, item, by)));
    }
    case 'call': {
      const [value, start] = condition.args.map((arg) => evaluate(arg, item, by));
      if (condition.name === 'attribute_exists') return value !== undefined;
      if (condition.name === 'attribute_not_exists') return value === undefined;
      return typeof value === 'string' && typeof start === 'string' && value.startsWith(start);
    }
  }
}

/** The ends of a range, both included. @throws {ExpressionError} if it ends before it begins. */
export function endsOf(
  range: { readonly from: Operand; readonly to: Operand },
  by: Placeholders,
): { readonly from: unknown; readonly to: unknown } {
  const [from, to] = [evaluate(range.from, {}, by), evaluate(range.to, {}, by)];
  if ((orderOf(from, to) ?? 0) > 0) throw new ExpressionError('The end of a range is before its start.');
  return { from, to };
}

/** The value of an operand, as the item is now. */
export function evaluate(of: Operand, item: Item, by: Placeholders): unknown {
  switch (of.kind) {
    case 'value': {
      const value = by.values[of.name];
      if (value === undefined)
        throw new ExpressionError(`An expression has ${of.name}, but no value for it.`);
      return value;
    }
    case 'path':
      return of.path.reduce<unknown>(
        (value, alias) => (isMap(value) ? ownOf(value, nameOf(alias, by)) : undefined),
        item,
      );
    case 'sum': {
      const [left, right] = [evaluate(of.left, item, by), evaluate(of.right, item, by)];
      if (typeof left !== 'number' || typeof right !== 'number')
        throw new ExpressionError('An update adds something other than a number.');
      return left + of.sign * right;
    }
    case 'call': {
      const [first, second] = of.args.map((arg) => evaluate(arg, item, by));
      if (of.name === 'if_not_exists') return first === undefined ? second : first;
      if (of.name === 'size') return sizeOf(first);
      if (!Array.isArray(first) || !Array.isArray(second))
        throw new ExpressionError('An update appends something other than a list.');
      return [...first, ...second];
    }
  }
}

function nameOf(alias: string, { names }: Placeholders): string {
  const name = names[alias];
  if (name === undefined) throw new ExpressionError(`An expression has ${alias}, but no name for it.`);
  return name;
}

function sizeOf(value: unknown): number | undefined {
  if (typeof value === 'string' || Array.isArray(value)) return value.length;
  return isMap(value) ? Object.keys(value).length : undefined;
}

function compares(left: unknown, by: Comparator, right: unknown): boolean {
  if (by === '=') return isEqual(left, right);
  if (by === '<>') return !isEqual(left, right);
  const order = orderOf(left, right);
  if (order === undefined) return false;
  if (by === '<') return order < 0;
  if (by === '<=') return order <= 0;
  return by === '>' ? order > 0 : order >= 0;
}

/** Strings are ordered by their bytes in UTF-8. Undefined: the two are not comparable. */
export function orderOf(left: unknown, right: unknown): number | undefined {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  return typeof left === 'string' && typeof right === 'string' ? compareKeys(left, right) : undefined;
}

function isEqual(left: unknown, right: unknown): boolean {
  if (left === right) return left !== undefined;
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((each, index) => isEqual(each, right[index]));
  if (!isMap(left) || !isMap(right)) return false;
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length && names.every((name) => isEqual(left[name], right[name]))
  );
}

/**
 * What becomes of an item by an update. Every operand is read of the item as it was.
 *
 * @param before the item, or only its key.
 * @throws {ExpressionError}
 */
export function updated(text: string, before: Item, by: Placeholders): Record<string, unknown> {
  const after: Record<string, unknown> = { ...before };
  for (const { clause, path, operand: of } of parseUpdate(text)) {
    const names = path.map((alias) => nameOf(alias, by));
    const value = of && evaluate(of, before, by);
    if (clause === 'ADD') {
      if (typeof value !== 'number')
        throw new ExpressionError('An update adds something other than a number.');
      const present = names.length === 1 ? ownOf(before, names[0] as string) : undefined;
      if (names.length !== 1 || (present !== undefined && typeof present !== 'number'))
        throw new ExpressionError('An update adds to something other than a number.');
      put(after, names, (present ?? 0) + value);
    } else {
      if (clause === 'SET' && value === undefined)
        throw new ExpressionError("An update copies an attribute that the item doesn't have.");
      put(after, names, value);
    }
  }
  return Object.keys(after).length > Object.keys(before).length ? inOneOrder(after) : after;
}

/**
 * An item whose attributes came in an order of its own has a hidden class of its own in V8, and so has each step on the way
 * there: the 16 parts of a day's history would come in 16! orders.
 */
const inOneOrder = (item: Record<string, unknown>) =>
  Object.fromEntries(
    Object.keys(item)
      .sort()
      .map((name) => [name, item[name]]),
  );

/**
 * What DynamoDB checks of an update before it looks at the item.
 *
 * @throws {ExpressionError} if one path is another, or a part of it.
 */
export function checkUpdate(text: string, by: Placeholders): void {
  const paths = parseUpdate(text).map(({ path }) => path.map((alias) => nameOf(alias, by)));
  const textOf = (path: readonly string[]) => JSON.stringify(path);
  const known = new Set(paths.map(textOf));
  const isWithin = (path: readonly string[]) =>
    path.slice(1).some((_, end) => known.has(textOf(path.slice(0, end + 1))));
  if (known.size < paths.length || paths.some(isWithin))
    throw new ExpressionError('An update has two paths that overlap.');
}

/** Sets what lies at a path; undefined removes it. Maps on the way are copied: others have them too. */
function put(into: Record<string, unknown>, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length > 0) {
    const inner = ownOf(into, name);
    if (!isMap(inner)) throw new ExpressionError(`An update changes a part of ${name}, which isn't a map.`);
    const copy = { ...inner };
    put(copy, rest, value);
    into[name] = copy;
  } else if (value === undefined) delete into[name];
  else into[name] = value;
}

/** An attribute may be called `constructor`. */
const ownOf = (item: Item, name: string) => (Object.hasOwn(item, name) ? item[name] : undefined);

function isMap(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
