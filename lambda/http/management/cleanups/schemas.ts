import * as z from 'zod';
import { bytes, time } from '../../../api/contract/fields.ts';
import { oidPattern } from '../../../domain/names.ts';

const sum = z.object({ objectCount: z.int().min(0), bytes });

export const cleanupSchema = z
  .object({
    tenant: z.string(),
    repo: z.string(),
    state: z.enum(['watching', 'selecting', 'deleting', 'done', 'cancelled', 'expired']).meta({
      description:
        'watching: it waits for a run. selecting and deleting go on by themselves; the others are ends.',
    }),
    openedAt: time,
    snapshotFrom: time.meta({ description: 'Refs may be listed, and a clone may be scanned, from then on.' }),
    mayRun: z.boolean().meta({ description: 'That time has come, and no run is under way.' }),
    watchEndsAt: time.meta({ description: 'It ends by itself then.' }),
    endedAt: time.nullable(),
    run: z
      .object({
        requestedAt: time,
        dryRun: z.boolean(),
        force: z.boolean(),
        minAgeDays: z.number().min(0),
        keepSetObjects: z.int().min(0),
      })
      .nullable()
      .meta({ description: 'The last one. null: there was none.' }),
    found: z
      .object({
        stored: sum,
        kept: sum.meta({ description: 'In the keep-set.' }),
        young: sum.meta({ description: 'Not in it, but stored lately.' }),
        inUse: sum.meta({
          description: 'Neither, but named by a push since the clean-up was opened.',
        }),
        reserved: sum.extend({ until: time }).optional().meta({
          description: 'None of these, but uploaded recently: a run can choose them from `until` on.',
        }),
        candidates: sum.meta({ description: 'All others: what is deleted, unless somebody names it first.' }),
        isMoreThanHalf: z.boolean().meta({ description: 'Of the bytes. Then it takes `force`.' }),
        largest: z.array(z.object({ oid: z.string().regex(oidPattern), sizeBytes: bytes })),
        lists: z
          .array(z.object({ url: z.string() }))
          .meta({ description: 'All candidates, a line each: oid and bytes. Empty in the end.' }),
      })
      .nullable()
      .meta({ description: 'What the last run found. null: nothing yet.' }),
    failure: z
      .object({
        reason: z.enum(['no-keep-set', 'too-much', 'too-many-names', 'no-candidates']),
        message: z.string(),
      })
      .nullable()
      .meta({ description: 'Why the last run deleted nothing, or nothing more. Another may begin.' }),
    deleted: sum.meta({ description: 'So far, at least.' }),
  })
  .meta({ id: 'Cleanup' });

export const signedKeepSetSchema = z
  .object({
    url: z.string().meta({ description: 'PUT the file there, with these headers.' }),
    headers: z.record(z.string(), z.string()),
  })
  .meta({ id: 'SignedKeepSet' });

export type CleanupBody = z.output<typeof cleanupSchema>;
