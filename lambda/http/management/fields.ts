import * as z from 'zod';
import { repoNamed, repoPattern } from '../../domain/names.ts';
import { isPlainText } from '../../domain/plain-text.ts';

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
