import * as z from 'zod';
import { oidPattern } from '../../core/rules/names.ts';
import { answer, type Contract } from '../../frame/contract/contract.ts';
import {
  bytes,
  count,
  decodeCursor,
  page,
  pageOf,
  repoName,
  stringOrNull,
  time,
  timeOrNull,
} from '../../frame/contract/fields.ts';
import { listOf } from '../../frame/contract/json.ts';
import { exportIdPattern } from './rules/job.ts';
import { wrongRequested } from './rules/objects.ts';

/** What the cursor of a list of exports looks like: in hex the id of an export, which has 24 hex digits. */
const exportCursorPattern = /^c(?:3[0-9]|6[1-6]){24}$/;

/** More than a body has space for. */
export const requestedObjectsMax = 15_000;
const objectsRule = `must have 1 to ${requestedObjectsMax} objects; leave it out for all`;

const startExportBodyBytesMax = 1024 * 1024;

/** UTF-16 units, which are no more than the bytes of UTF-8. */
const nameUnitsMax = 4096;

const requestedObject = z.strictObject({
  oid: z.string().regex(oidPattern, 'must be 64 lower-case hex digits'),
  name: z
    .string()
    .min(1, "can't be empty")
    .max(nameUnitsMax)
    .optional()
    .describe(
      'Its path in the archive: one that Git, Windows and macOS accept, so not `.git/config` or `aux.c`. Default: `lfs/objects/ab/cd/OID`, where git-lfs expects it below `.git`.',
    ),
});

export const startExportBody = z
  .strictObject({
    repo: repoName.optional().describe('Only objects of this repo. A trailing `.git` is ignored.'),
    format: z.enum(['tar', 'zip']).optional().meta({ default: 'tar' }),
    dryRun: z.boolean().optional().meta({ default: false, description: 'Only show what it would take.' }),
    prefer: z.enum(['time', 'cost']).optional().describe('Ignored. Accepted because older clients send it.'),
    objects: listOf(requestedObject, { min: 1, max: requestedObjectsMax, rule: objectsRule })
      .superRefine((objects, context) => {
        const wrong = wrongRequested(objects);
        if (wrong)
          context.addIssue({ code: 'custom', path: [wrong.index, wrong.field], message: wrong.message });
      })
      .optional()
      .describe('Only these, each oid and name once. The body can contain about 14,000.'),
  })
  .meta({ id: 'StartExport' });

const exportQuery = pageOf(exportCursorPattern, decodeCursor);

const planFigures = {
  archiveBytes: bytes,
  uploadedBytes: bytes.describe('Bytes that workers read and upload.'),
  copiedBytes: bytes.describe('Bytes that the store copies internally.'),
  archives: count.describe("Above 1 if one stored object can't contain all."),
  shards: count.describe("Parts that are built separately, because one upload can't have enough parts."),
  requests: count.describe('Requests to the store.'),
  dollars: z.number().min(0).describe('Requests, transfer and workers, by list prices.'),
  seconds: z.number().min(0).describe('Estimate with all workers.'),
};

const way = z
  .enum(['stream', 'copy-free', 'copy-grid'])
  .describe(
    'stream: workers read and upload everything. copy-free: the store copies, in parts of any size. copy-grid: the ' +
      'store copies, in parts of one size.',
  );

export const exportSchema = z
  .object({
    exportId: z.string(),
    tenant: z.string(),
    repo: stringOrNull.describe('null: all repos.'),
    by: z
      .object({
        kind: z.enum(['operator', 'token', 'identity']),
        name: stringOrNull.describe('User or label of the token.'),
      })
      .nullable()
      .describe('Its author. null: an older version.'),
    listedObjects: z.int().min(1).nullable().describe('Number of requested oids. null: all objects.'),
    named: z
      .boolean()
      .describe(
        "Whether the request chose file names, or the repo is of kind files. Its archives end in `-files`. Never extract them into `.git`: a name could be one of Git's own files.",
      ),
    format: z.enum(['tar', 'zip']),
    prefer: z
      .enum(['time', 'cost'])
      .optional()
      .describe('Always time. Kept because older clients require it.'),
    dryRun: z.boolean(),
    state: z
      .enum(['planning', 'hashing', 'copying', 'done', 'explained', 'failed', 'cancelled', 'expired'])
      .describe(
        'planning and copying are in progress (hashing: an older server). The others are final. explained: a dry run finished. expired: the archive was removed.',
      ),
    createdAt: time,
    endedAt: timeOrNull,
    expiresAt: time.describe(
      "When the archive is removed. In progress: when the export fails if it isn't done.",
    ),
    progress: z.object({
      share: z.number().min(0).max(1).nullable().describe('Share of the bytes. null: not planned yet.'),
      uploadedBytes: bytes,
      copiedBytes: bytes,
      hashedBytes: bytes,
      requests: count,
      unitsDone: count.describe('Finished units of work in this state.'),
      units: count,
    }),
    plan: z
      .object({
        way,
        objectCount: count,
        objectBytes: bytes,
        missing: count.describe("Requested objects that aren't in the store."),
        conflicts: count.describe('Objects left out: another object has their oid and a different size.'),
        ...planFigures,
      })
      .nullable()
      .describe('null: not planned yet.'),
    explained: z.unknown().optional().describe('Always null. Kept because older clients require it.'),
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
          url: stringOrNull.describe(
            'Its download URL: accepts ranges, needs no credentials. null in lists.',
          ),
          urlExpiresAt: timeOrNull.describe('Poll again for a new one.'),
        }),
      )
      .describe("Empty until it's done."),
    countsAgainstQuota: z
      .literal(false)
      .describe("Archives aren't part of the usage, and don't need space below the limit."),
  })
  .meta({ id: 'Export' });

export const exportPageSchema = page('ExportPage', { exports: z.array(exportSchema) });

export type ExportBody = z.output<typeof exportSchema>;

const figures = {
  archiveBytes: 15_003_084_288,
  uploadedBytes: 7_941_000_000,
  copiedBytes: 7_062_084_288,
  archives: 1,
  shards: 0,
  requests: 6400,
  dollars: 0.014,
  seconds: 14.4,
};

const newExport = {
  exportId: '019a9d3c2f805f0c1e2d3b4a',
  tenant: 'acme',
  repo: 'game',
  by: { kind: 'token', name: 'ada' },
  listedObjects: null,
  named: false,
  format: 'tar',
  prefer: 'time',
  dryRun: false,
  state: 'planning',
  createdAt: '2026-11-21T05:00:00Z',
  endedAt: null,
  expiresAt: '2026-11-22T05:00:00Z',
  progress: {
    share: null,
    uploadedBytes: 0,
    copiedBytes: 0,
    hashedBytes: 0,
    requests: 0,
    unitsDone: 0,
    units: 0,
  },
  plan: null,
  explained: null,
  failure: null,
  archives: [],
  countsAgainstQuota: false,
};

const archive = {
  name: 'acme-game.tar',
  sizeBytes: figures.archiveBytes,
  url: 'https://…',
  urlExpiresAt: '2026-11-21T05:31:00Z',
};

const doneExport = {
  ...newExport,
  state: 'done',
  endedAt: '2026-11-21T05:00:20Z',
  expiresAt: '2026-11-28T05:00:20Z',
  progress: {
    share: 1,
    uploadedBytes: figures.uploadedBytes,
    copiedBytes: figures.copiedBytes,
    hashedBytes: 0,
    requests: figures.requests,
    unitsDone: 8,
    units: 8,
  },
  plan: {
    way: 'copy-free',
    objectCount: 3000,
    objectBytes: 15_000_000_000,
    missing: 0,
    conflicts: 0,
    ...figures,
  },
  archives: [archive],
};

export const exportContract = {
  'GET /v1/tenants/{tenant}/exports': {
    id: 'listExports',
    summary: 'The exports of a tenant, the newest first',
    description: 'Without URLs: get a single export for them.',
    access: 'reader',
    query: exportQuery,
    answers: {
      200: answer('One page.', exportPageSchema, {
        exports: [{ ...doneExport, archives: [{ ...archive, url: null, urlExpiresAt: null }] }],
        nextCursor: null,
      }),
    },
    problems: ['exports-off'],
  },
  'POST /v1/tenants/{tenant}/exports': {
    id: 'startExport',
    summary: 'Export objects of a tenant or repo as an archive',
    description:
      "The store copies most bytes internally. The archive is kept for some days, and isn't counted as usage. A tenant has a few slots for exports: each archive uses one until it's removed. Files of a repo of kind files are below `files/REPO/`, with their names unchanged. Extract these into a new folder.",
    access: 'reader',
    onlyOpen: true,
    action: 'export.start',
    takesRequestKey: true,
    body: {
      schema: startExportBody,
      example: { repo: 'game', format: 'tar' },
      bytesMax: startExportBodyBytesMax,
    },
    answers: { 202: answer('The export has started. Poll it.', exportSchema, newExport) },
    problems: [
      'wrong-kind',
      'exports-off',
      'repo-required',
      'repo-not-found',
      'export-not-found',
      'exports-full',
      'exports-too-many',
    ],
  },
  'GET /v1/tenants/{tenant}/exports/{exportId}': {
    variables: { exportId: exportIdPattern },
    id: 'getExport',
    summary: 'Progress of an export, and URLs of its archives',
    description: 'Each response has new URLs.',
    access: 'reader',
    answers: { 200: answer('The export.', exportSchema, doneExport) },
    problems: ['exports-off', 'export-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/exports/{exportId}': {
    variables: { exportId: exportIdPattern },
    id: 'deleteExport',
    summary: 'Cancel an export, or remove its archive',
    description:
      'Its slot is free immediately. The archive is removed soon after, which can interrupt a download.',
    access: 'reader',
    action: 'export.delete',
    answers: {
      200: answer("The export's new state.", exportSchema, {
        ...newExport,
        state: 'cancelled',
        endedAt: '2026-11-21T05:00:05Z',
      }),
    },
    problems: ['exports-off', 'export-not-found'],
  },
} as const satisfies Contract;
