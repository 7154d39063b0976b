import * as z from 'zod';
import { wrongRequested } from '../../domain/export/requested-objects.ts';
import { oidPattern, repoPattern, tenantNameRule, tenantPattern } from '../../domain/names.ts';
import {
  cursorPattern,
  decodeCursor,
  decodeReservationCursor,
  exportCursorPattern,
  objectCursorPattern,
  reservationCursorPattern,
} from './cursor.ts';

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

export const steerCountBody = z
  .strictObject({
    state: z.enum(['running', 'paused', 'cancelled']).meta({
      description:
        'paused: no shard is scanned until it is running again. cancelled: the recount that is under way is given up.',
    }),
  })
  .meta({ id: 'SteerCount' });

const requestedObject = z.strictObject({
  oid: z.string().regex(oidPattern, 'must be 64 lower-case hex digits'),
  name: z.string().min(1, 'must not be empty').optional().meta({
    description:
      'Its path in the archive. Without it: `lfs/objects/ab/cd/OID`, where git-lfs looks for it below `.git`.',
  }),
});

export const startExportBody = z
  .strictObject({
    repo: z
      .string()
      .regex(repoPattern, 'must be the name of a repo')
      .optional()
      .meta({ description: 'Only objects of this repo. A trailing `.git` is not part of the name.' }),
    format: z.enum(['tar', 'zip']).optional().meta({ default: 'tar' }),
    prefer: z.enum(['time', 'cost']).optional().meta({
      default: 'time',
      description: 'What matters more, where the two differ.',
    }),
    dryRun: z
      .boolean()
      .optional()
      .meta({ default: false, description: 'Only tell what each way of making it would take.' }),
    objects: z
      .array(requestedObject)
      .min(1, 'must name an object, or be left out for all of them')
      .superRefine((objects, context) => {
        const wrong = wrongRequested(objects);
        if (wrong)
          context.addIssue({ code: 'custom', path: [wrong.index, wrong.field], message: wrong.message });
      })
      .optional()
      .meta({ description: 'Only these. As many as the body has room for, no oid and no name twice.' }),
  })
  .meta({ id: 'StartExport' });

export const pageSizeDefault = 100;
const pageSizeMax = 1000;

/** A page of a list: `limit` items after `cursor`. Every list of the API is paged like this. */
const pageOf = <T>(pattern: RegExp, decode: (cursor: string) => T) =>
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

export const exportQuery = pageOf(exportCursorPattern, decodeCursor);

const ofRepo = {
  repo: z
    .string()
    .transform((text) => text.replace(/\.git$/, ''))
    .pipe(z.string().regex(repoPattern, 'must be the name of a repo'))
    .optional()
    .meta({ description: 'Only those of this repo. A trailing `.git` is not part of the name.' }),
};

export const reservationQuery = pageOf(reservationCursorPattern, decodeReservationCursor).extend(ofRepo);

export const objectQuery = pageOf(objectCursorPattern, decodeCursor).extend(ofRepo);

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
