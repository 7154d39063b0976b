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
  const bytes = keyBytes + fieldsBytes(Object.entries(record));
  if (bytes > bytesMax) throw refused(`An item of ${bytes} bytes is too large.`);
  return record;
}

/** @throws {LedgerUnavailableError} if an update expression is too long. */
export function checkExpression(change: readonly Clause[]): void {
  const bytes = Buffer.byteLength(updateExpression(change));
  if (bytes > expressionBytesMax) throw refused(`An update expression of ${bytes} bytes is too long.`);
}

/** A field that is null is an attribute that the item does not have. */
function fieldsBytes(fields: Iterable<readonly [string, unknown]>): number {
  let bytes = 0;
  for (const [name, value] of fields)
    if (value !== null && value !== undefined) bytes += Buffer.byteLength(name) + valueBytes(value);
  return bytes;
}

/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html */
function valueBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  // One byte for two digits, and one more. Trailing zeros are not counted there, but they are here.
  if (typeof value === 'number') return Math.ceil(String(Math.abs(value)).length / 2) + 1;
  if (value instanceof Map) return 3 + value.size + fieldsBytes(value);
  if (value instanceof Set) return [...value].reduce<number>((sum, item) => sum + 1 + valueBytes(item), 3);
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value);
    return 3 + fields.length + fieldsBytes(fields);
  }
  return 1;
}

function refused(reason: string): LedgerUnavailableError {
  return new LedgerUnavailableError('The table refused the request.', { cause: new Error(reason) });
}
