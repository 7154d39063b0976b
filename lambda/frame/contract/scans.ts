import * as z from 'zod';
import { answer, type Contract } from './contract.ts';
import { count, page, pageQuery, time } from './fields.ts';

const steerScanBody = z
  .strictObject({
    state: z
      .enum(['running', 'paused', 'cancelled'])
      .describe('paused: no shard is scanned until you resume. cancelled: stops the requested rescan.'),
  })
  .meta({ id: 'SteerScan' });

const scanSchema = z
  .object({
    repo: z.string(),
    kind: z
      .enum(['initial', 'requested', 'rolling'])
      .describe(
        'initial: first scan of a large repo, in shards. requested: rescan of all shards. rolling: regular scans, each shard once a round.',
      ),
    state: z.enum(['running', 'paused']),
    progress: z
      .object({
        share: z.number().min(0).max(1).describe('Share of the names that were scanned.'),
        objectCount: count.describe('Objects counted so far.'),
        listRequests: count.describe('LIST requests made so far.'),
        objectsPerSecond: z.number().min(0).nullable(),
        secondsLeft: count.nullable().describe('null: unknown, or paused.'),
        beganAt: time,
        updatedAt: time,
      })
      .nullable()
      .describe('null: no scan of all shards is in progress.'),
  })
  .meta({ id: 'Scan' });

const scanPageSchema = page('ScanPage', { scans: z.array(scanSchema) });

export type ScanBody = z.infer<typeof scanSchema>;

const scan = {
  repo: 'footage',
  kind: 'initial',
  state: 'running',
  progress: {
    share: 0.25,
    objectCount: 125_000_000,
    listRequests: 126_400,
    objectsPerSecond: 694_444.4,
    secondsLeft: 540,
    beganAt: '2026-11-21T05:00:00Z',
    updatedAt: '2026-11-21T05:03:00Z',
  },
};

export const scanContract = {
  'GET /v1/tenants/{tenant}/scans': {
    id: 'listScans',
    summary: 'Progress of scans of large repos',
    description:
      'Repos that are scanned in shards, by name. A page can be short or empty without being the last.',
    access: 'reader',
    query: pageQuery,
    answers: { 200: answer('One page.', scanPageSchema, { scans: [scan], nextCursor: null }) },
  },
  'PATCH /v1/tenants/{tenant}/repos/{repo}/scan': {
    id: 'changeScan',
    summary: 'Pause, resume or cancel the scan of a large repo',
    description:
      "Finished shards keep their result. Pushes and deletes work, and count. You can only pause an initial scan: without it, the repo's usage is unknown.",
    access: 'manager',
    action: 'scan.change',
    body: { schema: steerScanBody, example: { state: 'paused' } },
    answers: { 200: answer('The scan.', scanSchema, { ...scan, state: 'paused' }) },
    problems: ['repo-not-found', 'scan-not-finished'],
  },
} as const satisfies Contract;
