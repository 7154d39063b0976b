import * as z from 'zod';
import { oidPattern, repoPattern } from '../../domain/names.ts';

/**
 * What the management API answers. Handlers answer by these schemas, the command line reads by them, and
 * `/openapi.json` shows them. Bytes are whole numbers up to 2^53 − 1.
 */

const time = z.iso.datetime().meta({ examples: ['2026-11-21T05:00:00Z'] });
const bytes = z.int().min(0);
const deleting = z
  .literal(true)
  .optional()
  .meta({ description: 'Only while it is being deleted: it takes no more pushes.' });

const usageSchema = z
  .object({
    storedBytes: bytes.meta({ description: 'Stored, as last counted.' }),
    objectCount: z.int().min(0),
    reservedBytes: bytes.meta({ description: 'What admitted uploads may still bring: an upper bound.' }),
    reservedUntil: time.nullable().meta({
      description:
        'When the last of the uploads that were reserved at `countedAt` can no longer arrive. Those admitted since ' +
        'end later. null: none was reserved.',
    }),
    committedBytes: bytes.meta({ description: 'The counter: what is stored or may still arrive.' }),
    countedAt: time.meta({ description: 'When the numbers were counted.' }),
    source: z
      .enum(['cache', 'scan'])
      .meta({ description: 'scan: counted for this answer. cache: counted before.' }),
  })
  .meta({ id: 'Usage' });

export const tenantSchema = z
  .object({
    tenant: z.string(),
    plan: z.string().nullable(),
    limitBytes: bytes.nullable().meta({ description: 'null: unlimited.' }),
    createdAt: time,
    usage: usageSchema.nullable().meta({ description: 'null: never counted, which is not zero.' }),
    deleting,
  })
  .meta({ id: 'Tenant' });

const nextCursor = z
  .string()
  .nullable()
  .meta({ description: '`cursor` of the next page. null: this is the last page.' });

export const tenantPageSchema = z
  .object({ tenants: z.array(tenantSchema), nextCursor })
  .meta({ id: 'TenantPage' });

export const tokenSchema = z
  .object({
    tokenId: z.string().meta({ description: 'Names the token in lists. It is no secret.' }),
    scope: z.enum(['read', 'write']),
    label: z.string().nullable(),
    createdAt: time,
  })
  .meta({ id: 'Token' });

export const tokenPageSchema = z
  .object({ tokens: z.array(tokenSchema), nextCursor })
  .meta({ id: 'TokenPage' });

export const newTokenSchema = tokenSchema
  .extend({
    tenant: z.string(),
    token: z.string().meta({ description: 'The secret. It is answered this once and stored nowhere.' }),
  })
  .meta({ id: 'NewToken' });

export const repoSchema = z
  .object({
    repo: z.string(),
    storedBytes: bytes.nullable().meta({ description: 'null: deleted before it was ever counted.' }),
    objectCount: z.int().min(0).nullable(),
    countedAt: time.nullable(),
    deleting,
  })
  .meta({ id: 'Repo' });

export const repoPageSchema = z.object({ repos: z.array(repoSchema), nextCursor }).meta({ id: 'RepoPage' });

export const objectPageSchema = z
  .object({
    objects: z.array(
      z.object({
        repo: z.string().regex(repoPattern),
        oid: z
          .string()
          .regex(oidPattern)
          .meta({ description: 'SHA-256 of its bytes, 64 lower-case hex digits.' }),
        sizeBytes: bytes,
      }),
    ),
    nextCursor,
  })
  .meta({ id: 'ObjectPage' });

export const countSchema = z
  .object({
    repo: z.string(),
    kind: z.enum(['first', 'recount', 'rolling']).meta({
      description:
        'first: the repo became so large that it is counted by shards, and not all of them are counted yet. recount: ' +
        'somebody asked for all to be counted again. rolling: each shard is counted once in a round.',
    }),
    state: z.enum(['running', 'paused']),
    progress: z
      .object({
        share: z.number().min(0).max(1).meta({ description: 'Share of the names that are counted.' }),
        objectCount: z.int().min(0).meta({ description: 'Objects counted so far.' }),
        listRequests: z.int().min(0).meta({ description: 'LIST requests made so far.' }),
        objectsPerSecond: z.number().min(0).nullable(),
        secondsLeft: z
          .int()
          .min(0)
          .nullable()
          .meta({ description: 'null: nothing tells it yet, or it is paused.' }),
        beganAt: time,
        updatedAt: time,
      })
      .nullable()
      .meta({ description: 'null: no count of all shards is under way.' }),
  })
  .meta({ id: 'Count' });

export const countPageSchema = z
  .object({ counts: z.array(countSchema), nextCursor })
  .meta({ id: 'CountPage' });

const reservationSchema = z
  .object({
    id: z.string().meta({ description: 'Names the reservation. It is no secret.' }),
    repo: z.string(),
    state: z.enum(['pending', 'issued', 'late']).meta({
      description:
        'pending: its batch is being answered, or died meanwhile. issued: its upload URLs were handed out. late: the ' +
        'last upload should have ended, but not every object was seen.',
    }),
    objectCount: z.int().min(0).meta({
      description:
        'Objects that it was made for, also those that have arrived. If it is late, those not seen.',
    }),
    bytes: bytes.meta({ description: 'Their size.' }),
    arrived: z.boolean().meta({
      description: 'The last count saw all of them. They count as stored, and it holds no room besides.',
    }),
    createdAt: time,
    expiresAt: time.meta({ description: 'No upload URL of it is valid after this.' }),
    reservedUntil: time.meta({
      description:
        'When it can no longer hold room: uploads that began before `expiresAt` have ended. If it is late, a day after ' +
        'that.',
    }),
  })
  .meta({ id: 'Reservation' });

export const reservationPageSchema = z
  .object({ reservations: z.array(reservationSchema), nextCursor })
  .meta({ id: 'ReservationPage' });

export const deletePlanSchema = z
  .object({
    tenant: z.string(),
    repo: z.string().optional(),
    oid: z.string().optional(),
    objectCount: z.int().min(0).nullable().meta({ description: 'As last counted. null: never counted.' }),
    bytes: bytes.nullable(),
    dueAt: time.meta({
      description:
        'From then on all of it goes. Of a tenant, what open uploads still hold goes when those have expired.',
    }),
    waitsFor: z.literal('uploads').optional().meta({
      description:
        'Why it is not due sooner: it was pushed just now, and its upload URLs could bring it back until `dueAt`.',
    }),
  })
  .meta({ id: 'DeletePlan' });

export const subscriptionSchema = z
  .object({
    tenant: z.string(),
    plan: z.string().nullable(),
    limitBytes: bytes.nullable().meta({ description: 'null: unlimited.' }),
    usage: usageSchema.nullable().meta({ description: 'null: never counted, which is not zero.' }),
    repos: z.array(repoSchema),
    refreshing: z.boolean().meta({ description: 'A recount is under way. Ask again in a moment.' }),
    deleting,
  })
  .meta({ id: 'Subscription' });

export const recountQueuedSchema = z
  .object({ tenant: z.string(), queued: z.literal(true) })
  .meta({ id: 'RecountQueued' });

const planFigures = {
  archiveBytes: bytes,
  uploadedBytes: bytes.meta({ description: 'What workers read and upload.' }),
  copiedBytes: bytes.meta({ description: 'What the store copies by itself.' }),
  archives: z.int().min(0).meta({ description: 'Above 1 if one object of the store cannot hold all.' }),
  shards: z
    .int()
    .min(0)
    .meta({ description: 'Pieces that are made apart, because one upload has not parts enough.' }),
  requests: z.int().min(0).meta({ description: 'Requests to the store.' }),
  dollars: z.number().min(0).meta({ description: 'Requests, transfer and workers, by list prices.' }),
  seconds: z.number().min(0).meta({ description: 'With all workers of the stage: an estimate.' }),
};

const way = z.enum(['stream', 'copy-free', 'copy-grid']).meta({
  description:
    'stream: workers read and upload everything. copy-free: the store copies, in parts of any size. copy-grid: the ' +
    'store copies, in parts of one size.',
});

const exportWaySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('possible'), way, ...planFigures }),
  z.object({ kind: z.literal('not-in-this-store'), way }),
  z.object({ kind: z.literal('object-too-large'), way, oid: z.string(), sizeBytes: bytes }),
]);

export const exportSchema = z
  .object({
    exportId: z.string(),
    tenant: z.string(),
    repo: z.string().nullable().meta({ description: 'null: all repos.' }),
    listedObjects: z
      .int()
      .min(1)
      .nullable()
      .meta({ description: 'Objects that were asked for by their oids. null: all.' }),
    format: z.enum(['tar', 'zip']),
    prefer: z.enum(['time', 'cost']),
    dryRun: z.boolean(),
    state: z
      .enum(['planning', 'hashing', 'copying', 'done', 'explained', 'failed', 'cancelled', 'expired'])
      .meta({
        description:
          'planning, hashing (zip alone) and copying go on by themselves; the others are ends. explained: a dry run is ' +
          'done. expired: the archive was removed.',
      }),
    createdAt: time,
    endedAt: time.nullable(),
    expiresAt: time.meta({
      description:
        'When the archive is removed. While it is being made: when it fails, if it is not done by then.',
    }),
    progress: z.object({
      share: z
        .number()
        .min(0)
        .max(1)
        .nullable()
        .meta({ description: 'Share of the bytes. null: not planned yet.' }),
      uploadedBytes: bytes,
      copiedBytes: bytes,
      hashedBytes: bytes,
      requests: z.int().min(0),
      unitsDone: z
        .int()
        .min(0)
        .meta({ description: 'Pieces of work that are done, of those of this state.' }),
      units: z.int().min(0),
    }),
    plan: z
      .object({
        way,
        objectCount: z.int().min(0),
        objectBytes: bytes,
        missing: z
          .int()
          .min(0)
          .meta({ description: 'Objects that were asked for and are not in the store.' }),
        conflicts: z
          .int()
          .min(0)
          .meta({ description: 'Objects left out, because another has their oid and another size.' }),
        ...planFigures,
      })
      .nullable()
      .meta({ description: 'null: not planned yet.' }),
    explained: z
      .object({
        ways: z.array(exportWaySchema),
        text: z.string().meta({ description: 'The same in words, a line for each way.' }),
      })
      .nullable()
      .meta({ description: 'What each way of making it takes. null: not planned yet.' }),
    failure: z
      .object({
        reason: z.enum(['object-too-large', 'too-many-objects', 'objects-vanish', 'store', 'timeout']),
        message: z.string(),
      })
      .nullable(),
    archives: z
      .array(
        z.object({
          name: z.string(),
          sizeBytes: bytes,
          url: z.string().nullable().meta({
            description: 'Downloads it, also in ranges, without credentials. null in lists.',
          }),
          urlExpiresAt: time.nullable().meta({ description: 'Ask again for a new one.' }),
        }),
      )
      .meta({ description: 'Empty until it is done.' }),
    countsAgainstQuota: z.literal(false).meta({
      description: 'What an export stores is no part of the usage, and needs no room below the limit.',
    }),
  })
  .meta({ id: 'Export' });

export const exportPageSchema = z
  .object({ exports: z.array(exportSchema), nextCursor })
  .meta({ id: 'ExportPage' });

export const healthSchema = z.object({ status: z.literal('ok') }).meta({ id: 'Health' });

export type TenantBody = z.output<typeof tenantSchema>;
export type TokenBody = z.output<typeof tokenSchema>;
export type RepoBody = z.output<typeof repoSchema>;
export type ObjectBody = z.output<typeof objectPageSchema>['objects'][number];
export type CountBody = z.infer<typeof countSchema>;
export type ReservationBody = z.output<typeof reservationSchema>;
export type DeletePlanBody = z.output<typeof deletePlanSchema>;
export type ExportBody = z.output<typeof exportSchema>;
export type SubscriptionBody = z.output<typeof subscriptionSchema>;
