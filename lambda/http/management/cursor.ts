import type { DeletionPage } from '../../adapters/dynamodb/deletions.ts';
import type { DownloadPlace } from '../../adapters/dynamodb/downloads.ts';
import type { ReservationPage } from '../../adapters/dynamodb/reservations.ts';

/** Bytes of the key in a cursor. A key of the store has at most 1,024, and part of them are not in the cursor. */
const keyBytesMax = 1000;

/** What a cursor looks like: every text of this form can be decoded. */
export const cursorPattern = new RegExp(`^c(?:[0-9a-f]{2}){0,${keyBytesMax}}$`);

/**
 * A list's cursor: the key of the last item of a page, encoded. Clients hand it back as it is, so what stands in it
 * may change.
 */
export function encodeCursor(lastKey: string): string {
  return `c${Buffer.from(lastKey).toString('hex')}`;
}

/** The key after which the next page begins. @param cursor of the form {@link cursorPattern}. */
export function decodeCursor(cursor: string): string {
  return Buffer.from(cursor.slice(1), 'hex').toString('utf8');
}

/** What the cursor of a list of exports looks like: in hex the id of an export, which has 24 hex digits. */
export const exportCursorPattern = /^c(?:3[0-9]|6[1-6]){24}$/;

/** What the cursor of a list of file locks looks like: in hex the hash of a path, which has 40 hex digits. */
export const lockCursorPattern = /^c(?:3[0-9]|6[1-6]){40}$/;

/** Of a list of objects: a key below a tenant's path, which leaves room for a tenant of one letter and a slash. */
const objectKeyBytesMax = 1022;

/** What the cursor of a list of objects looks like. */
export const objectCursorPattern = new RegExp(`^c(?:[0-9a-f]{2}){1,${objectKeyBytesMax}}$`);

type ReservationPlace = NonNullable<ReservationPage['next']>;

/** Letters and digits in hex. */
const alphanumeric = '3[0-9]|[46][1-9a-f]|[57][0-9a]';

/** What the cursor of a list of reservations looks like: in hex an id, `#` and the name of a repo. */
export const reservationCursorPattern = new RegExp(
  `^c(?:3[0-9]|6[1-6]){32}23(?:${alphanumeric})(?:(?:${alphanumeric}|2[de]|5f){0,98}(?:${alphanumeric}|2d|5f))?$`,
);

export function encodeReservationCursor({ repo, reservationId }: ReservationPlace): string {
  return encodeCursor(`${reservationId}#${repo}`);
}

/** @param cursor of the form {@link reservationCursorPattern}. */
export function decodeReservationCursor(cursor: string): ReservationPlace {
  const [reservationId = '', repo = ''] = decodeCursor(cursor).split('#');
  return { repo, reservationId };
}

type DeletionPlace = NonNullable<DeletionPage['next']>;

/** Bytes of a name in the cursor of a list of deletions, at most. A folder of the store can have a longer name than a repo. */
const folderBytesMax = 1024;

/** What the cursor of a list of deletions looks like: in hex an id (letters, digits and `-`, with `~` first or without), `#` and the name of a repo. */
export const deletionCursorPattern = new RegExp(
  `^c(?:7e)?(?:${alphanumeric}|2d){1,64}23(?:[0-9a-f]{2}){0,${folderBytesMax}}$`,
);

export function encodeDeletionCursor({ repo, deletionId }: DeletionPlace): string {
  return encodeCursor(`${deletionId}#${repo}`);
}

/** @param cursor of the form {@link deletionCursorPattern}. */
export function decodeDeletionCursor(cursor: string): DeletionPlace {
  const text = decodeCursor(cursor);
  const end = text.indexOf('#');
  return { deletionId: text.slice(0, end), repo: text.slice(end + 1) };
}

export function encodeDownloadCursor({ day, repo, tokenId }: DownloadPlace): string {
  return encodeCursor(`${day}#${repo}#${tokenId}`);
}

export function decodeDownloadCursor(cursor: string): DownloadPlace {
  const [day = '', repo = '', ...rest] = decodeCursor(cursor).split('#');
  return { day, repo, tokenId: rest.join('#') };
}
