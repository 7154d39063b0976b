import * as z from 'zod';
import { wrongRequested } from '../../exports/rules/objects.ts';
import { oidPattern } from '../../rules/names.ts';
import { listOf } from '../json.ts';
import type { Contract } from './contract.ts';
import { bytes, decodeCursor, nextCursor, pageOf, repoName, time } from './fields.ts';

/** What the cursor of a list of exports looks like: in hex the id of an export, which has 24 hex digits. */
const exportCursorPattern = /^c(?:3[0-9]|6[1-6]){24}$/;

/** More than a body has space for. */
export const requestedObjectsMax = 15_000;
const objectsRule = `must name 1 to ${requestedObjectsMax} objects, or be left out for all of them`;

const startExportBodyBytesMax = 1024 * 1024;

/** UTF-16 units, which are no more than the bytes of UTF-8. */
const nameUnitsMax = 4096;

const requestedObject = z.strictObject({
  oid: z.string().regex(oidPattern, 'must be 64 lower-case hex digits'),
  name: z.string().min(1, 'must not be empty').max(nameUnitsMax).optional().meta({
    description:
      'Its path in the archive: one that git takes, so not `.git/config`. Without it: `lfs/objects/ab/cd/OID`, where git-lfs looks for it below `.git`.',
  }),
});

export const startExportBody = z
  .strictObject({
    repo: repoName
      .optional()
      .meta({ description: 'Only objects of this repo. A trailing `.git` is not part of the name.' }),
    format: z.enum(['tar', 'zip']).optional().meta({ default: 'tar' }),
    dryRun: z.boolean().optional().meta({ default: false, description: 'Only tell what it would take.' }),
    prefer: z
      .enum(['time', 'cost'])
      .optional()
      .meta({ description: 'Ignored. Accepted because older clients send it.' }),
    objects: listOf(requestedObject, { min: 1, max: requestedObjectsMax, rule: objectsRule })
      .superRefine((objects, context) => {
        const wrong = wrongRequested(objects);
        if (wrong)
          context.addIssue({ code: 'custom', path: [wrong.index, wrong.field], message: wrong.message });
      })
      .optional()
      .meta({ description: 'Only these. Name no oid and no name twice. The body takes about 14,000.' }),
  })
  .meta({ id: 'StartExport' });

const exportQuery = pageOf(exportCursorPattern, decodeCursor);

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
    prefer: z
      .enum(['time', 'cost'])
      .optional()
      .meta({ description: 'Always time. Kept because older clients require it.' }),
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
      .unknown()
      .optional()
      .meta({ description: 'Always null. Kept because older clients require it.' }),
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

/** Exports. */
export const exportContract = {
  'GET /v1/tenants/{tenant}/exports': {
    id: 'listExports',
    summary: 'The exports of a tenant, the newest first',
    description: 'Without URLs: ask for one export to get them.',
    access: 'reader',
    needsExports: true,
    query: exportQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: exportPageSchema,
        example: {
          exports: [{ ...doneExport, archives: [{ ...archive, url: null, urlExpiresAt: null }] }],
          nextCursor: null,
        },
      },
    },
  },
  'POST /v1/tenants/{tenant}/exports': {
    id: 'startExport',
    summary: 'Make an archive of all objects of a tenant, of a repo, or of some',
    description:
      'The store copies most of the bytes by itself. The archive is kept for some days, and does not count against the ' +
      'quota. A tenant has a few places for exports: one is taken until its archive is removed.',
    access: 'reader',
    onlyOpen: true,
    needsExports: true,
    action: 'export.start',
    takesRequestKey: true,
    body: {
      schema: startExportBody,
      example: { repo: 'game', format: 'tar' },
      bytesMax: startExportBodyBytesMax,
    },
    answers: {
      202: {
        description: 'The export has begun. Ask for it again.',
        schema: exportSchema,
        example: newExport,
      },
    },
    problems: ['repo-required', 'repo-not-found', 'export-not-found', 'exports-full', 'exports-too-many'],
  },
  'GET /v1/tenants/{tenant}/exports/{exportId}': {
    id: 'getExport',
    summary: 'An export: how far it is, and where its archives are downloaded',
    description: 'Each answer has new URLs.',
    access: 'reader',
    needsExports: true,
    answers: { 200: { description: 'The export.', schema: exportSchema, example: doneExport } },
    problems: ['export-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/exports/{exportId}': {
    id: 'deleteExport',
    summary: 'Cancel an export, or remove its archive',
    description:
      'Its place is free at once. What lies in the store is removed soon after; a download that has begun may break off.',
    access: 'reader',
    needsExports: true,
    action: 'export.delete',
    answers: {
      200: {
        description: 'The export as it is now.',
        schema: exportSchema,
        example: { ...newExport, state: 'cancelled', endedAt: '2026-11-21T05:00:05Z' },
      },
    },
    problems: ['export-not-found'],
  },
} as const satisfies Contract;
