import * as z from 'zod';
import { bytes, nextCursor, time } from '../../../api/contract/fields.ts';

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

export const exportSchema = z
  .object({
    exportId: z.string(),
    tenant: z.string(),
    repo: z.string().nullable().meta({ description: 'null: all repos.' }),
    by: z
      .object({
        kind: z.enum(['operator', 'token', 'identity']),
        name: z.string().nullable().meta({ description: 'User or label of the token.' }),
      })
      .nullable()
      .meta({ description: 'The asker. null: an older version made it.' }),
    listedObjects: z
      .int()
      .min(1)
      .nullable()
      .meta({ description: 'Objects that were asked for by their oids. null: all.' }),
    named: z.boolean().meta({
      description:
        'Whether the list gives files their names. Its archives end in `-files`: never extract them into `.git`, where a ' +
        "name can be one of git's own files.",
    }),
    format: z.enum(['tar', 'zip']),
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

export type ExportBody = z.output<typeof exportSchema>;
