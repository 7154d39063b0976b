import { type FileLock, lockPageMax } from '../../../extras/rules/lock.ts';
import { plainText } from '../../../rules/text.ts';
import type { WireLock } from './schemas.ts';

/** A lock as clients read it: its time in whole seconds. */
export function lockBody({ id, path, ownerName, lockedAtMs }: FileLock): WireLock {
  const lockedAt = new Date(lockedAtMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
  return { id, path, locked_at: lockedAt, owner: { name: plainText(ownerName) } };
}

/** The cursor of the next page, as it stands in an answer. */
export const nextCursorOf = (next: string | null) => (next === null ? {} : { next_cursor: next });

/** Who has a lock and since when, for people: `ada has locked a.bin since 2026-11-21 05:00 UTC`. */
export function whoHas({ path, ownerName, lockedAtMs }: FileLock): string {
  const [date = '', time = ''] = new Date(lockedAtMs).toISOString().slice(0, 16).split('T');
  return plainText(`${ownerName} has locked ${path} since ${date} ${time} UTC`);
}

/** Locks on a page: what the client asks for, as far as that is possible. 0 stands for no wish. */
export function pageSizeOf(limit: number | undefined): number {
  return limit ? Math.min(limit, lockPageMax) : lockPageMax;
}
