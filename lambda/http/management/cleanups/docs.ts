import type { OperationDocs } from '../../operation-docs.ts';
import { oid } from '../objects/docs.ts';
import { cleanupRunBody, keepSetBody, openCleanupBody } from './requests.ts';
import { cleanupSchema, signedKeepSetSchema } from './schemas.ts';

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
export const cleanupDocs = {
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
    problems: ['tenant-not-found', 'cleanup-not-found'],
  },
  'POST /v1/tenants/{tenant}/repos/{repo}/cleanup': {
    id: 'openCleanup',
    summary: 'Open a clean-up: from now on pushes note what they name',
    description:
      'A repo that has one keeps it. Wait until `snapshotFrom`, then list the refs and scan a full clone, send the ' +
      'keep-set, and begin a run. The command line does all of it: `lfs-quota gc`.',
    access: 'manager',
    action: 'cleanup.open',
    body: { schema: openCleanupBody, example: {} },
    answers: { 201: { description: 'It is open.', schema: cleanupSchema, example: opened } },
    problems: ['tenant-not-found', 'repo-not-found', 'tenant-closed', 'cleanup-ending'],
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
    problems: ['tenant-not-found', 'cleanup-not-found', 'cleanup-running'],
  },
  'POST /v1/tenants/{tenant}/repos/{repo}/cleanup/keep-set': {
    id: 'signKeepSet',
    summary: 'A URL to send a keep-set to',
    description:
      'A keep-set is a file of the first 8 bytes of each oid to which some commit points, one after the other. Its length ' +
      'and SHA-256 are signed.',
    access: 'manager',
    action: 'cleanup.keep-set',
    body: { schema: keepSetBody, example: { objects: 2900, sha256 } },
    answers: {
      200: {
        description: 'The URL.',
        schema: signedKeepSetSchema,
        example: { url: 'https://…', headers: { 'x-amz-checksum-sha256': '47DEQpj8HBSa…' } },
      },
    },
    problems: [
      'tenant-not-found',
      'tenant-closed',
      'cleanup-not-found',
      'cleanup-too-early',
      'cleanup-running',
    ],
  },
  'POST /v1/tenants/{tenant}/repos/{repo}/cleanup/run': {
    id: 'runCleanup',
    summary: 'Find what nothing needs, and delete it if asked to',
    description: 'A dry run unless the body says otherwise. After one, the clean-up stays open for another.',
    access: 'manager',
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
    problems: [
      'tenant-not-found',
      'tenant-closed',
      'cleanup-not-found',
      'cleanup-too-early',
      'cleanup-running',
    ],
  },
} satisfies OperationDocs;
