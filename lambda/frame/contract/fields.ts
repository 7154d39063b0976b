import * as z from 'zod';
import { repoNamed, repoPattern } from '../../core/rules/names.ts';
import { isPlainText } from '../../core/rules/text.ts';
import { storageClasses } from '../../core/store/rules/storage-class.ts';
import { fileNameBytesMax, isFilePrefix } from '../access/rules/file-names.ts';
import { grantScopes, tokenScopes } from '../access/rules/tokens.ts';

/**
 * Fields that several requests and answers of the management API have. Handlers answer by the schemas of their
 * subject, the command line reads by them, and `/openapi.json` shows them. Bytes are whole numbers up to 2^53 − 1.
 */

export const time = z.iso.datetime().meta({ examples: ['2026-11-21T05:00:00Z'] });

export const timeOrNull = time.nullable();

export const count = z.int().min(0);
export const bytes = z.int().min(0);
export const bytesOrNull = bytes.nullable();

export const stringOrNull = z.string().nullable();
export const names = z.array(z.string());
export const namesOrNull = names.nullable();

/** A field that is there if it holds. */
export const onlyTrue = z.literal(true).optional();

export const scope = z.enum(tokenScopes);
export const grantScope = z.enum(grantScopes);

const repoRule = 'must be the name of a repo';

/** A repo as its URL has it: `.git` at its end is not part of the name. */
export const repoName = z
  .string()
  .max(104, repoRule)
  .transform((text) => repoNamed(text) ?? '')
  .pipe(z.string().regex(repoPattern, repoRule));

/** What names of files begin with. */
export const filePrefix = z
  .string()
  .refine(isFilePrefix, 'must be the start of a valid file name')
  .meta({ maxLength: fileNameBytesMax });

const limitRule = 'must be a whole number of bytes from 0 to 2^53 − 1';

/** A limit in bytes. null: unlimited. */
export const limit = (description: string) =>
  z.int(limitRule).min(0, limitRule).nullable().describe(description);

export const deleting = onlyTrue.describe("Only while it's being deleted: pushes get 404.");

const nextCursor = stringOrNull.describe('`cursor` of the next page. null: this is the last page.');

/** One page of a list. */
export const page = <T extends z.core.$ZodLooseShape>(id: string, listed: T) =>
  z.object({ ...listed, nextCursor }).meta({ id });

/** Text for people, some characters (code points, as JSON Schema counts them). Two never differ in outer spaces alone. */
export const text = (description: string, charactersMax = 100) => {
  const rule = `must have 1 to ${charactersMax} characters`;
  return (
    z
      .string()
      .trim()
      // Of UTF-16 a character has two units at most. What is longer is not counted.
      .max(2 * charactersMax, { message: rule, abort: true })
      .refine((value) => value !== '' && [...value].length <= charactersMax, rule)
      .refine(isPlainText, "can't have invisible or control characters")
      .meta({ minLength: 1, maxLength: charactersMax, pattern: '\\S' })
      .nullable()
      .describe(description)
  );
};

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

/** A cursor of several fields, with `#` between them. The last one may have others in it. */
export function cursorOf<K extends string>(...fields: readonly K[]) {
  return {
    encode: (place: Readonly<Record<K, string | number>>) =>
      encodeCursor(fields.map((field) => place[field]).join('#')),
    decode: (cursor: string) => {
      const parts = decodeCursor(cursor).split('#');
      const values = [...parts.splice(0, fields.length - 1), parts.join('#')];
      const place = fields.map((field, index) => [field, values[index] ?? '']);
      return Object.fromEntries(place) as Record<K, string>;
    },
  };
}

/** Letters and digits in hex. */
export const alphanumeric = '3[0-9]|[46][1-9a-f]|[57][0-9a]';

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
      .regex(pattern, 'must be the nextCursor of the previous page')
      .transform(decode)
      .optional()
      .meta({
        type: 'string',
        pattern: pattern.source,
        description: '`nextCursor` of the previous page. Default: the first page.',
      }),
  });

export const pageQuery = pageOf(cursorPattern, decodeCursor);

export const ofRepo = {
  repo: repoName.optional().describe('Only those of this repo. A trailing `.git` is ignored.'),
};

export const flag = (rule = 'must be true or false') =>
  z
    .enum(['true', 'false'], rule)
    .transform((value) => value === 'true')
    .pipe(z.boolean())
    .optional();

export const day = (description: string) =>
  z.iso.date('must be a day such as 2026-11-21').optional().describe(description);

export const noQuery = z.strictObject({});

/** One that an admin sets. @param none what null means. */
export const storageClass = (none: string) =>
  z
    .enum(storageClasses, `must be one of: ${storageClasses.join(', ')}`)
    .nullable()
    .describe(
      `Storage class of new objects, one that the store has. Stored objects keep theirs. null: ${none}. Only for the operator.`,
    );

export const storageClassShown = z
  .string()
  .optional()
  .meta({ description: 'Storage class of new objects, if one is set here.', examples: ['STANDARD_IA'] });
