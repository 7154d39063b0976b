import { sha256Hex } from '../../rules/hash.ts';

/** What an export's id looks like: in hex the milliseconds of its beginning, and 48 random bits. Ids sort by time. */
export const exportIdPattern = /^[0-9a-f]{24}$/;

/** @param input.random at least 48 random bits as text. The same input gives the same id. */
export function newExportId(input: { nowMs: number; random: string }): string {
  return input.nowMs.toString(16).padStart(12, '0') + sha256Hex(input.random).slice(0, 12);
}
