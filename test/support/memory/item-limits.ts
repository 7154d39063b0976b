import { type Clause, updateExpression } from '../../../lambda/adapters/dynamodb/expressions.ts';
import { LedgerUnavailableError } from '../../../lambda/ports/ledger.ts';

/**
 * The limits of DynamoDB that a growing ledger can meet:
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
 */
export const itemBytesMax = 400 * 1024;
const expressionBytesMax = 4096;

/** The key of an item, and its attributes for the index of what is due. */
const keyBytes = 200;

/** @throws {LedgerUnavailableError} if a record does not fit into one item, as the adapter does then. */
export function fitting<T extends object>(record: T, bytesMax: number): T {
  const bytes = keyBytes + recordBytes(record);
  if (bytes > bytesMax) throw refused(`An item of ${bytes} bytes is too large.`);
  return record;
}

/** @throws {LedgerUnavailableError} if an update expression is too long. */
export function checkExpression(change: readonly Clause[]): void {
  const bytes = Buffer.byteLength(updateExpression(change));
  if (bytes > expressionBytesMax) throw refused(`An update expression of ${bytes} bytes is too long.`);
}

/** A field that is null is an attribute that the item does not have. */
function fieldBytes(name: string, value: unknown): number {
  return value === null || value === undefined ? 0 : Buffer.byteLength(name) + valueBytes(value);
}

function recordBytes(record: object): number {
  let bytes = 0;
  for (const name of Object.keys(record)) bytes += fieldBytes(name, record[name as keyof typeof record]);
  return bytes;
}

/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html */
function valueBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  // One byte for two digits, and one more. Trailing zeros are not counted there, but they are here.
  if (typeof value === 'number') return Math.ceil(digitsOf(Math.abs(value)) / 2) + 1;
  if (value instanceof Map) {
    let bytes = 3 + value.size;
    for (const [name, item] of value) bytes += fieldBytes(name, item);
    return bytes;
  }
  if (value instanceof Set) {
    let bytes = 3;
    for (const item of value) bytes += 1 + valueBytes(item);
    return bytes;
  }
  if (typeof value === 'object' && value !== null) return 3 + Object.keys(value).length + recordBytes(value);
  return 1;
}

/** Characters of a number. */
function digitsOf(value: number): number {
  return Number.isInteger(value) && value < 10 ? 1 : String(value).length;
}

function refused(reason: string): LedgerUnavailableError {
  return new LedgerUnavailableError('The table refused the request.', { cause: new Error(reason) });
}
