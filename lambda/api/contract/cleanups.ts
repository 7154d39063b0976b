import * as z from 'zod';
import { prefixBytes, prefixesMax } from '../../gc/rules/prefix-set.ts';
import { oidPattern } from '../../rules/names.ts';
import type { Contract } from './contract.ts';
import { bytes, time } from './fields.ts';
import { oid } from './objects.ts';

/** In milliseconds. */
export const day = 24 * 60 * 60 * 1000;

/** Ten years. */
const minAgeDaysMax = 3650;
export const minAgeDaysDefault = 7;

/** Nothing can be said of a clean-up that is opened. */
const openCleanupBody = z.strictObject({}).meta({ id: 'OpenCleanup' });

const keepSet = {
  objects: z
    .int()
    .min(0)
    .max(prefixesMax, `must be at most ${prefixesMax}`)
    .meta({
      description: `Objects to which some commit points. The file has ${prefixBytes} bytes for each: the first of its oid.`,
    }),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits')
    .meta({ description: 'Of the file.' }),
};

const keepSetBody = z.strictObject(keepSet).meta({ id: 'KeepSet' });

const cleanupRunBody = z
  .strictObject({
    keepSet: z.strictObject(keepSet).meta({ description: 'As it was sent.' }),
    dryRun: z.boolean().optional().meta({ default: true, description: 'Only tell what would be deleted.' }),
    force: z
      .boolean()
      .optional()
      .meta({ default: false, description: 'Delete, though it is more than half of the bytes.' }),
    minAgeDays: z
      .int()
      .min(0)
      .max(minAgeDaysMax)
      .optional()
      .meta({ default: minAgeDaysDefault, description: 'Keep what was stored in as many days.' }),
  })
  .meta({ id: 'CleanupRun' });

const sum = z.object({ objectCount: z.int().min(0), bytes });

const cleanupSchema = z
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

const signedKeepSetSchema = z
  .object({
    url: z.string().meta({ description: 'PUT the file there, with these headers.' }),
    headers: z.record(z.string(), z.string()),
  })
  .meta({ id: 'SignedKeepSet' });

export type CleanupBody = z.output<typeof cleanupSchema>;

const sha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

const opened = {
  tenant: 'acme',
  repo: 'game',
  state: 'watching',
  openedAt: '2026-11-21T05:00:00Z',
  snapshotFrom: '2026-11-22T05:00:00Z',
  mayRun: false,
  watchEndsAt: '2026-12-21T05:00:00Z',
  endedAt: null,
  run: null,
  found: null,
  failure: null,
  deleted: { objectCount: 0, bytes: 0 },
};

const run = {
  requestedAt: '2026-11-22T06:00:00Z',
  dryRun: true,
  force: false,
  minAgeDays: 7,
  keepSetObjects: 2900,
};

const found = {
  stored: { objectCount: 3000, bytes: 15_000_000_000 },
  kept: { objectCount: 2890, bytes: 14_000_000_000 },
  young: { objectCount: 8, bytes: 40_000_000 },
  inUse: { objectCount: 2, bytes: 10_000_000 },
  candidates: { objectCount: 100, bytes: 950_000_000 },
  isMoreThanHalf: false,
  largest: [{ oid, sizeBytes: 2_450_000 }],
  lists: [{ url: 'https://…' }],
};

/** Clean-ups of repos. */
export const cleanupContract = {
  'GET /v1/tenants/{tenant}/repos/{repo}/cleanup': {
    id: 'getCleanup',
    summary: 'The clean-up of a repo, or the last one that it had',
    description:
      'Each answer has new URLs for the lists of what was found: up to 100 of 10,000 objects each.',
    access: 'manager',
    answers: {
      200: {
        description: 'The clean-up.',
        schema: cleanupSchema,
        example: { ...opened, mayRun: true, run, found },
      },
    },
    problems: ['cleanup-not-found'],
  },
  'POST /v1/tenants/{tenant}/repos/{repo}/cleanup': {
    id: 'openCleanup',
    summary: 'Open a clean-up: from now on pushes note what they name',
    description:
      'A repo that has one keeps it. Wait until `snapshotFrom`, then list the refs and scan a full clone, send the ' +
      'keep-set, and begin a run. The command line does all of it: `lfs-quota gc`.',
    access: 'manager',
    onlyOpen: true,
    action: 'cleanup.open',
    body: { schema: openCleanupBody, example: {} },
    answers: { 201: { description: 'It is open.', schema: cleanupSchema, example: opened } },
    problems: ['repo-not-found', 'cleanup-ending'],
  },
  'DELETE /v1/tenants/{tenant}/repos/{repo}/cleanup': {
    id: 'cancelCleanup',
    summary: 'Cancel a clean-up',
    description:
      'What it has not deleted stays, but for up to 1,000 objects that are being deleted right now.',
    access: 'manager',
    action: 'cleanup.cancel',
    answers: {
      200: {
        description: 'The clean-up as it is now.',
        schema: cleanupSchema,
        example: { ...opened, state: 'cancelled', endedAt: '2026-11-21T05:10:00Z' },
      },
    },
    problems: ['cleanup-not-found', 'cleanup-running'],
  },
  'POST /v1/tenants/{tenant}/repos/{repo}/cleanup/keep-set': {
    id: 'signKeepSet',
    summary: 'A URL to send a keep-set to',
    description:
      'A keep-set is a file of the first 8 bytes of each oid to which some commit points, one after the other. Its length ' +
      'and SHA-256 are signed.',
    access: 'manager',
    onlyOpen: true,
    action: 'cleanup.keep-set',
    body: { schema: keepSetBody, example: { objects: 2900, sha256 } },
    answers: {
      200: {
        description: 'The URL.',
        schema: signedKeepSetSchema,
        example: { url: 'https://…', headers: { 'x-amz-checksum-sha256': '47DEQpj8HBSa…' } },
      },
    },
    problems: ['cleanup-not-found', 'cleanup-too-early', 'cleanup-running'],
  },
  'POST /v1/tenants/{tenant}/repos/{repo}/cleanup/run': {
    id: 'runCleanup',
    summary: 'Find what nothing needs, and delete it if asked to',
    description: 'A dry run unless the body says otherwise. After one, the clean-up stays open for another.',
    access: 'manager',
    onlyOpen: true,
    action: 'cleanup.run',
    body: {
      schema: cleanupRunBody,
      example: { keepSet: { objects: 2900, sha256 }, dryRun: true, minAgeDays: 7 },
    },
    answers: {
      202: {
        description: 'The run has begun. Ask for the clean-up again.',
        schema: cleanupSchema,
        example: { ...opened, state: 'selecting', run },
      },
    },
    problems: ['cleanup-not-found', 'cleanup-too-early', 'cleanup-running'],
  },
} as const satisfies Contract;
