import * as z from 'zod';
import { cursorPattern, decodeCursor } from './cursor.ts';
import { repoName } from './fields.ts';

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
