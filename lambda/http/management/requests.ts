import * as z from 'zod';
import { isRepoName, repoPattern, tenantNameRule, tenantPattern } from '../../domain/names.ts';
import type { ReservationPage } from '../../ports/ledger.ts';
import { cursorPattern, decodeCursor } from './cursor.ts';

/** What the management API is asked: bodies and queries. A field that none of them names is refused. */

const limitRule = 'must be a whole number of bytes from 0 to 2^53 − 1';
const limitBytes = z
  .int(limitRule)
  .min(0, limitRule)
  .nullable()
  .meta({ description: 'Bytes that the tenant may store. null: unlimited.' });

const textCharactersMax = 100;

/** Text for people, 1 to 100 characters (code points, as JSON Schema counts them). */
const text = (description: string) =>
  z
    .string()
    .refine(
      (value) => value !== '' && [...value].length <= textCharactersMax,
      `must have 1 to ${textCharactersMax} characters`,
    )
    .meta({ minLength: 1, maxLength: textCharactersMax })
    .nullable()
    .meta({ description });

const plan = text('The plan that the tenant is billed by. lfs-quota only stores it.');

export const createTenantBody = z
  .strictObject({
    tenant: z.string().regex(tenantPattern, `must be ${tenantNameRule}`),
    limitBytes: limitBytes.optional(),
    plan: plan.optional(),
  })
  .meta({ id: 'CreateTenant' });

export const updateTenantBody = z
  .strictObject({ limitBytes: limitBytes.optional(), plan: plan.optional() })
  .refine((body) => Object.keys(body).length > 0, 'name limitBytes or plan')
  .meta({ id: 'UpdateTenant', minProperties: 1 });

export const createTokenBody = z
  .strictObject({
    scope: z.enum(['read', 'write']).meta({ description: 'read: clone and pull. write: push too.' }),
    label: text('What the token is for.').optional(),
  })
  .meta({ id: 'CreateToken' });

export const pageSizeDefault = 100;
const pageSizeMax = 1000;

const cursorRule = 'must be the nextCursor of the page before';
const cursor = z.string().regex(cursorPattern, cursorRule);
const cursorDoc = {
  type: 'string' as const,
  pattern: cursorPattern.source,
  description: '`nextCursor` of the page before. Without it the first page is answered.',
};

/** A page of a list: `limit` items after `cursor`. Every list of the API is paged like this. */
export const pageQuery = z.strictObject({
  limit: z
    .string()
    .regex(/^[1-9]\d{0,3}$/, `must be a whole number from 1 to ${pageSizeMax}`)
    .transform(Number)
    .pipe(z.int().max(pageSizeMax, `must be a whole number from 1 to ${pageSizeMax}`).min(1))
    .optional()
    .meta({ default: pageSizeDefault, description: 'Most items on the page.' }),
  /** Decoded: the key of the last item of the page before. */
  cursor: cursor.transform(decodeCursor).optional().meta(cursorDoc),
});

type PlaceOfReservation = NonNullable<ReservationPage['next']>;

/** A reservation's place in its tenant's list, as a cursor holds it. */
export function reservationKeyText({ repo, reservationId }: PlaceOfReservation): string {
  return `${reservationId}#${repo}`;
}

/** @returns undefined if no page of the list ended with such a text. */
function readReservationKey(text: string): PlaceOfReservation | undefined {
  const [, reservationId = '', repo = ''] = /^([0-9a-f]{32})#(.*)$/.exec(text) ?? [];
  return isRepoName(repo) ? { repo, reservationId } : undefined;
}

export const reservationQuery = z
  .strictObject({
    limit: pageQuery.shape.limit,
    cursor: cursor
      .transform((text, context) => {
        const key = readReservationKey(decodeCursor(text));
        if (key === undefined) context.addIssue(cursorRule);
        return key;
      })
      .optional()
      .meta(cursorDoc),
    repo: z
      .string()
      .transform((text) => text.replace(/\.git$/, ''))
      .pipe(z.string().regex(repoPattern, 'must be the name of a repo'))
      .optional()
      .meta({ description: 'Only those of this repo. A trailing `.git` is not part of the name.' }),
  })
  .refine(({ cursor, repo }) => repo === undefined || cursor === undefined || cursor.repo === repo, {
    path: ['cursor'],
    message: `${cursorRule}, of the same repo`,
  });

const flag = (rule = 'must be true or false') =>
  z
    .enum(['true', 'false'], rule)
    .transform((value) => value === 'true')
    .pipe(z.boolean())
    .optional();

const deleteRule = 'only dryRun=true and dryRun=false are known. Nothing was deleted';

/** Whoever misspells dryRun must not lose what was only to be looked at. */
export const deleteQuery = z.strictObject(
  { dryRun: flag(deleteRule).meta({ default: false, description: 'Only tell what the delete would free.' }) },
  deleteRule,
);

export const subscriptionQuery = z.strictObject({
  refresh: flag().meta({
    default: false,
    description: 'Count anew instead of reading the cache. Only the operator can ask for it.',
  }),
});

export const noQuery = z.strictObject({});
