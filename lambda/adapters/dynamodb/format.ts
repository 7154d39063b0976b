import { NewerFormatError } from '../../ports/ledger-errors.ts';

/**
 * The newest format that this version reads and writes. A tenant's item has it in `format`, for all in its partition:
 * every request reads that item anyway. One without it is of format 1.
 *
 * docs/operations.md has the changes of an item that need no new format. For any other, a first release reads the next
 * format and a second one writes it: it sets `format` with the first write that an older version would misread.
 */
export const knownFormat = 1;

/**
 * The condition that a tenant's item is of a format that this version knows, for writes that do not read it first. If
 * it fails, reading the item tells why.
 */
export const inKnownFormat = '(attribute_not_exists(#format) OR #format <= :knownFormat)';
export const formatValues = { ':knownFormat': knownFormat } as const;

/** @throws {NewerFormatError} */
export function refuseNewerFormat(item: { tenant: string; format: number }): void {
  if (item.format <= knownFormat) return;
  throw new NewerFormatError(
    `Tenant ${item.tenant} was written by a newer version: its items have format ${item.format}, and this version ` +
      `knows none above ${knownFormat}. Deploy that version again.`,
  );
}
