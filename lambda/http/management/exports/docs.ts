import type { OperationDocs } from '../../operation-docs.ts';
import { exportQuery, startExportBody, startExportBodyBytesMax } from './requests.ts';
import { exportPageSchema, exportSchema } from './schemas.ts';

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
export const exportDocs = {
  'GET /v1/tenants/{tenant}/exports': {
    id: 'listExports',
    summary: 'The exports of a tenant, the newest first',
    description: 'Without URLs: ask for one export to get them.',
    access: 'reader',
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
    problems: ['tenant-not-found', 'exports-off'],
  },
  'POST /v1/tenants/{tenant}/exports': {
    id: 'startExport',
    summary: 'Make an archive of all objects of a tenant, of a repo, or of some',
    description:
      'The store copies most of the bytes by itself. The archive is kept for some days, and does not count against the ' +
      'quota. A tenant has a few places for exports: one is taken until its archive is removed.',
    access: 'reader',
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
    problems: [
      'tenant-not-found',
      'repo-required',
      'repo-not-found',
      'export-not-found',
      'tenant-closed',
      'exports-off',
      'exports-full',
      'exports-too-many',
    ],
  },
  'GET /v1/tenants/{tenant}/exports/{exportId}': {
    id: 'getExport',
    summary: 'An export: how far it is, and where its archives are downloaded',
    description: 'Each answer has new URLs.',
    access: 'reader',
    answers: { 200: { description: 'The export.', schema: exportSchema, example: doneExport } },
    problems: ['tenant-not-found', 'export-not-found', 'exports-off'],
  },
  'DELETE /v1/tenants/{tenant}/exports/{exportId}': {
    id: 'deleteExport',
    summary: 'Cancel an export, or remove its archive',
    description:
      'Its place is free at once. What lies in the store is removed soon after; a download that has begun may break off.',
    access: 'reader',
    action: 'export.delete',
    answers: {
      200: {
        description: 'The export as it is now.',
        schema: exportSchema,
        example: { ...newExport, state: 'cancelled', endedAt: '2026-11-21T05:00:05Z' },
      },
    },
    problems: ['tenant-not-found', 'export-not-found', 'exports-off'],
  },
} satisfies OperationDocs;
