import * as z from 'zod';
import { repoNamed, repoPattern } from '../../rules/names.ts';
import { isPlainText } from '../../rules/text.ts';

/**
 * Fields that several requests and answers of the management API have. Handlers answer by the schemas of their
 * subject, the command line reads by them, and `/openapi.json` shows them. Bytes are whole numbers up to 2^53 − 1.
 */

export const time = z.iso.datetime().meta({ examples: ['2026-11-21T05:00:00Z'] });

export const bytes = z.int().min(0);

const repoRule = 'must be the name of a repo';

/** A repo as its URL has it: `.git` at its end is not part of the name. */
export const repoName = z
  .string()
  .max(104, repoRule)
  .transform((text) => repoNamed(text) ?? '')
  .pipe(z.string().regex(repoPattern, repoRule));

const limitRule = 'must be a whole number of bytes from 0 to 2^53 − 1';

/** A limit in bytes. null: unlimited. */
export const limit = (description: string) =>
  z.int(limitRule).min(0, limitRule).nullable().meta({ description });

export const deleting = z
  .literal(true)
  .optional()
  .meta({ description: 'Only while it is being deleted: it takes no more pushes.' });

export const nextCursor = z
  .string()
  .nullable()
  .meta({ description: '`cursor` of the next page. null: this is the last page.' });

const textCharactersMax = 100;
const textRule = `must have 1 to ${textCharactersMax} characters`;

/** Text for people, 1 to 100 characters (code points, as JSON Schema counts them). */
export const text = (description: string) =>
  z
    .string()
    // Of UTF-16 a character has two units at most. What is longer is not counted.
    .max(2 * textCharactersMax, { message: textRule, abort: true })
    .refine((value) => value !== '' && [...value].length <= textCharactersMax, textRule)
    .refine(isPlainText, "can't have invisible or control characters")
    .meta({ minLength: 1, maxLength: textCharactersMax })
    .nullable()
    .meta({ description });

export const iso = (timeMs: number) => new Date(timeMs).toISOString().replace(/\.\d{3}Z$/, 'Z');

export const deletingMark = (closedAtMs: number | null) =>
  closedAtMs === null ? {} : { deleting: true as const };

/** Bytes of the key in a cursor. A key of the store has at most 1,024, and part of them are not in the cursor. */
const keyBytesMax = 1000;

/** What a cursor looks like: every text of this form can be decoded. */
export const cursorPattern = new RegExp(`^c(?:[0-9a-f]{2}){0,${keyBytesMax}}$`);

/**
 * A list's cursor: the key of the last item of a page, encoded. Clients hand it back as it is, so what stands in it
 * may change.
 */
export function encodeCursor(lastKey: string): string {
  const hex = [...new TextEncoder().encode(lastKey)].map((byte) => byte.toString(16).padStart(2, '0'));
  return `c${hex.join('')}`;
}

/** The key after which the next page begins. @param cursor of the form {@link cursorPattern}. */
export function decodeCursor(cursor: string): string {
  const bytes =
    cursor
      .slice(1)
      .match(/../g)
      ?.map((hex) => Number.parseInt(hex, 16)) ?? [];
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(bytes));
}

/** What the cursor of a list of exports looks like: in hex the id of an export, which has 24 hex digits. */
export const exportCursorPattern = /^c(?:3[0-9]|6[1-6]){24}$/;

/** Of a list of objects: a key below a tenant's path, which leaves room for a tenant of one letter and a slash. */
const objectKeyBytesMax = 1022;

/** What the cursor of a list of objects looks like. */
export const objectCursorPattern = new RegExp(`^c(?:[0-9a-f]{2}){1,${objectKeyBytesMax}}$`);

interface ReservationPlace {
  readonly repo: string;
  readonly reservationId: string;
}

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

interface DeletionPlace {
  readonly repo: string;
  readonly deletionId: string;
}

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

interface DownloadPlace {
  readonly day: string;
  readonly repo: string;
  readonly tokenId: string;
}

export function encodeDownloadCursor({ day, repo, tokenId }: DownloadPlace): string {
  return encodeCursor(`${day}#${repo}#${tokenId}`);
}

export function decodeDownloadCursor(cursor: string): DownloadPlace {
  const [day = '', repo = '', ...rest] = decodeCursor(cursor).split('#');
  return { day, repo, tokenId: rest.join('#') };
}

/** Queries that several operations take. A parameter that none of them names is refused. */

export const pageSizeDefault = 100;
const pageSizeMax = 1000;

/** A page of a list: `limit` items after `cursor`. Every list of the API is paged like this. */
export const pageOf = <T>(pattern: RegExp, decode: (cursor: string) => T) =>
  z.strictObject({
    limit: z
      .string()
      .regex(/^[1-9]\d{0,3}$/, `must be a whole number from 1 to ${pageSizeMax}`)
      .transform(Number)
      .pipe(z.int().max(pageSizeMax, `must be a whole number from 1 to ${pageSizeMax}`).min(1))
      .optional()
      .meta({ default: pageSizeDefault, description: 'Most items on the page.' }),
    /** Decoded: the key of the last item of the page before. */
    cursor: z
      .string()
      .regex(pattern, 'must be the nextCursor of the page before')
      .transform(decode)
      .optional()
      .meta({
        type: 'string',
        pattern: pattern.source,
        description: '`nextCursor` of the page before. Without it the first page is answered.',
      }),
  });

export const pageQuery = pageOf(cursorPattern, decodeCursor);

export const ofRepo = {
  repo: repoName
    .optional()
    .meta({ description: 'Only those of this repo. A trailing `.git` is not part of the name.' }),
};

export const flag = (rule = 'must be true or false') =>
  z
    .enum(['true', 'false'], rule)
    .transform((value) => value === 'true')
    .pipe(z.boolean())
    .optional();

export const day = (description: string) =>
  z.iso.date('must be a day such as 2026-11-21').optional().meta({ description });

export const noQuery = z.strictObject({});
