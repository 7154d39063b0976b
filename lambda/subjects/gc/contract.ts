import * as z from 'zod';
import { oidPattern } from '../../core/rules/names.ts';
import { prefixBytes, prefixesMax } from '../../core/rules/prefix-set.ts';
import type { AuditAction } from '../../frame/access/rules/audit.ts';
import { answer, type Contract, managed } from '../../frame/contract/contract.ts';
import { bytes, count, time, timeOrNull } from '../../frame/contract/fields.ts';
import { oid } from '../../frame/contract/objects.ts';

/** In milliseconds. */
export const day = 24 * 60 * 60 * 1000;

/** Ten years. */
const minAgeDaysMax = 3650;
export const minAgeDaysDefault = 7;

/** Nothing can be said of a gc run that is opened. */
const openGcBody = z.strictObject({}).meta({ id: 'OpenGc' });

const reachableSet = {
  objects: z
    .int()
    .min(0)
    .max(prefixesMax, `must be at most ${prefixesMax}`)
    .describe(
      `Objects that a commit references. The file has ${prefixBytes} bytes for each: the first ones of its oid.`,
    ),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits')
    .describe('Of the file.'),
};

const reachableSetBody = z.strictObject(reachableSet).meta({ id: 'ReachableSet' });

const rule = z
  .strictObject({ days: z.int().min(0).max(9999), versions: z.int().min(0).max(999_999) })
  .meta({ id: 'GcRule' });

const gcRunBody = z
  .strictObject({
    reachableSet: z.strictObject(reachableSet).describe('As it was uploaded.'),
    dryRun: z.boolean().optional().meta({ default: true, description: 'Only show what would be deleted.' }),
    force: z.boolean().optional().meta({
      default: false,
      description: "Delete even if it's more than half of the bytes. The scope gc can't.",
    }),
    minAgeDays: z
      .int()
      .min(0)
      .max(minAgeDaysMax)
      .optional()
      .meta({ default: minAgeDaysDefault, description: 'Keep objects stored within this many days.' }),
    rule: rule
      .optional()
      .describe('The rule that the reachable set was made by: downloads of what it frees show it.'),
  })
  .meta({ id: 'GcRun' });

const sum = z.object({ objectCount: count, bytes });

const gcSchema = z
  .object({
    tenant: z.string(),
    repo: z.string(),
    state: z
      .enum(['watching', 'selecting', 'deleting', 'done', 'cancelled', 'expired'])
      .describe('watching: waiting for a run. selecting, deleting: in progress. The others are final.'),
    openedAt: time,
    snapshotFrom: time.describe('From then on, you can list refs and scan a clone.'),
    mayRun: z.boolean().describe('That time has passed, and no run is in progress.'),
    watchEndsAt: time.describe('It expires then.'),
    endedAt: timeOrNull,
    run: z
      .object({
        requestedAt: time,
        dryRun: z.boolean(),
        force: z.boolean(),
        minAgeDays: z.number().min(0),
        reachableSetObjects: count,
      })
      .nullable()
      .describe('The last one. null: there was none.'),
    found: z
      .object({
        stored: sum,
        kept: sum.describe('In the reachable set.'),
        young: sum.describe('Not in it, but stored recently.'),
        inUse: sum.describe('Neither, but part of a push since it was opened.'),
        reserved: sum
          .extend({ until: time })
          .optional()
          .describe('None of these, but uploaded recently: a run can choose them from `until` on.'),
        candidates: sum.describe("All others: they're deleted, unless a push contains them first."),
        isMoreThanHalf: z.boolean().describe('More than half of the bytes: requires `force`.'),
        largest: z.array(z.object({ oid: z.string().regex(oidPattern), sizeBytes: bytes })),
        lists: z
          .array(z.object({ url: z.string() }))
          .describe("All candidates, one line each: oid and bytes. Empty when it's finished."),
      })
      .nullable()
      .describe('The result of the last run. null: none yet.'),
    failure: z
      .object({
        reason: z.enum(['no-reachable-set', 'too-much', 'too-many-names', 'no-candidates']),
        message: z.string(),
      })
      .nullable()
      .describe('Why the last run deleted nothing, or stopped. You can start another.'),
    deleted: sum.describe('So far, at least.'),
  })
  .meta({ id: 'Gc' });

const signedReachableSetSchema = z
  .object({
    url: z.string().describe('PUT the file there, with these headers.'),
    headers: z.record(z.string(), z.string()),
  })
  .meta({ id: 'SignedReachableSet' });

export type GcBody = z.output<typeof gcSchema>;

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
  reachableSetObjects: 2900,
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

/** What who may collect garbage can change. */
const collecting = <A extends AuditAction>(action: A) =>
  ({ ...managed(action), access: 'collector' }) as const;

export const gcContract = {
  'GET /v1/tenants/{tenant}/repos/{repo}/gc': {
    id: 'getGc',
    summary: 'The current or last garbage collection of a repo',
    description:
      'Each response has new URLs for the lists of candidates: up to 100, with 10,000 objects each.',
    access: 'collector',
    answers: { 200: answer('Garbage collection.', gcSchema, { ...opened, mayRun: true, run, found }) },
    problems: ['repo-not-found', 'gc-not-found'],
  },
  'POST /v1/tenants/{tenant}/repos/{repo}/gc': {
    id: 'openGc',
    summary: 'Open garbage collection: from now on, pushes protect their objects',
    description:
      'If one is open, it stays. Wait until `snapshotFrom`. Then list the refs, scan a full clone, send the reachable set, and start a run. `lfs-quota gc` does all of it.',
    ...collecting('gc.open'),
    body: { schema: openGcBody, example: {} },
    answers: { 201: answer('It is open.', gcSchema, opened) },
    problems: ['repo-not-found', 'wrong-kind', 'gc-ending'],
  },
  'DELETE /v1/tenants/{tenant}/repos/{repo}/gc': {
    id: 'cancelGc',
    summary: 'Cancel garbage collection',
    description:
      "Objects that aren't deleted yet stay, except up to 1,000 that are being deleted at this moment.",
    access: 'collector',
    action: 'gc.cancel',
    answers: {
      200: answer("Garbage collection's new state.", gcSchema, {
        ...opened,
        state: 'cancelled',
        endedAt: '2026-11-21T05:10:00Z',
      }),
    },
    problems: ['repo-not-found', 'gc-not-found', 'gc-running'],
  },
  'POST /v1/tenants/{tenant}/repos/{repo}/gc/reachable-set': {
    id: 'signReachableSet',
    summary: 'A URL to send a reachable set to',
    description:
      'A reachable set is a file with the first 8 bytes of each oid that a commit references. The URL signs its length and SHA-256.',
    ...collecting('gc.reachable-set'),
    body: { schema: reachableSetBody, example: { objects: 2900, sha256 } },
    answers: {
      200: answer('The URL.', signedReachableSetSchema, {
        url: 'https://…',
        headers: { 'x-amz-checksum-sha256': '47DEQpj8HBSa…' },
      }),
    },
    problems: ['repo-not-found', 'gc-not-found', 'gc-too-early', 'gc-running'],
  },
  'POST /v1/tenants/{tenant}/repos/{repo}/gc/run': {
    id: 'runGc',
    summary: 'Find unreferenced objects, and optionally delete them',
    description: 'A dry run by default. After it, you can run again.',
    ...collecting('gc.run'),
    body: {
      schema: gcRunBody,
      example: { reachableSet: { objects: 2900, sha256 }, dryRun: true, minAgeDays: 7 },
    },
    answers: {
      202: answer('The run has started. Poll garbage collection.', gcSchema, {
        ...opened,
        state: 'selecting',
        run,
      }),
    },
    problems: ['repo-not-found', 'gc-not-found', 'gc-too-early', 'gc-running'],
  },
} as const satisfies Contract;
