import { expect } from 'vitest';
import {
  exportSchema as exportBodySchema,
  requestedObjectsMax,
  startExportBody,
} from '../../../../lambda/subjects/exports/contract.ts';
import { createDynamoDbExportJobs } from '../../../../lambda/subjects/exports/job-store.ts';
import { type ExportMessage, exportMessage } from '../../../../lambda/subjects/exports/messages.ts';
import { newExportJob, requestKey } from '../../../../lambda/subjects/exports/rules/job.ts';
import { exportLimitMs } from '../../../../lambda/subjects/exports/rules/settings.ts';
import { cancelExportsOf, startsPerDayMax, wakeExports } from '../../../../lambda/subjects/exports/start.ts';
import { runExportStep } from '../../../../lambda/subjects/exports/steps.ts';
import type { Deps } from '../../../../local/deps.ts';
import { path, type TestedSubject } from '../../subject.ts';
import { copying, done } from './export-bodies.ts';
import { wholeTenant } from './export-request.ts';
import { startExport } from './start-export.ts';

const variables = ['KEEP_DAYS', 'PER_TENANT', 'QUEUE_URL', 'STORE', 'WORKERS'].map(
  (name) => `EXPORT_${name}`,
);

/** As the generator of test/fixtures/272d26e made them. */
const exported = [
  Buffer.alloc(6 * 1024 ** 2),
  ...Array.from({ length: 5 }, (_, index) => Buffer.alloc(500, `exported ${index}.`)),
];
const levels = Array.from({ length: 4 }, (_, index) => Buffer.alloc(100, `level ${index}.`));

const exportId = '019a9d3c2f805f0c1e2d3b4a';

export const exports = {
  fill: {
    exportJobs: async (deps) => {
      const wish = { ...path, format: 'tar', isDryRun: false } as const;
      expect((await startExport(deps, wish)).kind).toBe('started');
    },
  },
  limits: {
    'Exports and garbage collection': {
      'Exports started in 24 hours': startsPerDayMax,
      'Objects listed in one export': requestedObjectsMax,
      'Longest export': `${exportLimitMs / 3_600_000} h`,
    },
  },
  kept: [
    {
      what: 'an export a week after its archive is removed',
      by: ['lambda/subjects/exports/job-store.ts exportFields'],
      async write({ table, client, tenant, atMs, second, day }) {
        const jobs = createDynamoDbExportJobs(table);
        const made = newExportJob({
          tenant,
          exportId: 'e',
          request: wholeTenant,
          nowMs: 1,
          limitMs: 2,
        });
        const job = { ...made, expiresAtMs: atMs };
        await jobs.create(job, { placesMax: 1, nowMs: 1 });
        const item = { ...(client.asked().at(-1)?.['Item'] as object), version: 1 };
        client.on('GetItem').resolves({ Item: item });
        await jobs.change(job, (found) => ({ ...found, expiresAtMs: atMs + 60_000 }));
        const record = { pk: 'EXPORTS#acme', sk: 'EXPORT#e', end: second + 7 * day };
        return [{ ...record, sk: 'PLACES', end: null }, record, { ...record, end: record.end + 60 }];
      },
    },
  ],
  functions: {
    exportArchive: {
      timeoutSeconds: 300,
      memoryMb: 2_048,
      variables: ['BUCKET', 'S3_REGION', 'TABLE', ...variables],
      writes: ['export-items', 'failure-item'],
    },
  },
  variables: { management: variables, refresh: ['EXPORT_QUEUE_URL'] },
  beside: {
    folder: '_exports',
    reached: [
      ...['PutObject', 'DeleteObject', 'AbortMultipartUpload', 'ListMultipartUploadParts'].map(
        (action) => ['exportArchive', action, '_exports/*'] as const,
      ),
      ['management', 'PutObject', '_exports/*/*/work/request.json'],
    ],
    keys: [
      [
        requestKey({ tenant: 'acme', exportId: '019a9d3c2f805f0c1e2d3b4a' }),
        /^_exports\/[^/]+\/[^/]+\/work\/request\.json$/,
      ],
    ],
  },
  older: {
    read: async ({ exportJobs }) => {
      const { jobs } = await exportJobs.list({ tenant: 'out', pageSize: 9 });
      expect(jobs.map(({ state }) => state).sort()).toEqual(['cancelled', 'copying', 'copying', 'done']);
    },
    done: async ({ exportJobs }, { get, storeUrl }) => {
      /** Of an export that has ended, by the URLs that the API gives. */
      const archiveOf = async (tenant: string, exportId: string) => {
        const route = 'GET /v1/tenants/{tenant}/exports/{exportId}';
        const { state, archives } = exportBodySchema.parse(await get(route, { tenant, exportId }));
        expect(state).toBe('done');
        const urls = archives.map(({ url }) => url ?? '');
        expect(urls.every((url) => url.startsWith(storeUrl))).toBe(true);
        const bytes = await Promise.all(urls.map(async (url) => (await fetch(url)).arrayBuffer()));
        return Buffer.concat(bytes.map((each) => Buffer.from(each)));
      };
      const { jobs } = await exportJobs.list({ tenant: 'out', pageSize: 9 });
      const made = jobs.filter(({ state }) => state !== 'cancelled');
      expect(made).toHaveLength(3);
      for (const { exportId } of made) {
        const archive = await archiveOf('out', exportId);
        for (const bytes of exported) expect(archive.includes(bytes)).toBe(true);
      }
      const [last] = (await exportJobs.list({ tenant: 'acme', pageSize: 1 })).jobs;
      const archive = await archiveOf('acme', last?.exportId ?? '');
      for (const bytes of levels) expect(archive.includes(bytes)).toBe(true);
    },
  },
  repoIn: { export: (repo) => startExportBody.safeParse({ repo }).data?.repo },
  runs: {
    export: [
      ...['--repo game.git --format zip --dry-run', '--objects test/unit/cli/objects.txt'].map((options) => ({
        line: `export start acme ${options} --no-wait`,
      })),
      { line: 'export start acme --format rar' },
      { line: 'export list acme', answers: [{ exports: [] }] },
      {
        line: 'export list acme',
        answers: [
          { exports: [copying(0.25)], nextCursor: 'c00' },
          { exports: [done('https://s.example/', { repo: null })], nextCursor: null },
        ],
      },
      { line: `export show acme ${exportId}`, answers: [copying(0.25)] },
      { line: 'export start acme --no-wait', answers: [{ problem: 'exports-full' }] },
      ...['cancelled', 'expired', 'failed'].map((state) => ({
        line: `export delete acme ${exportId}`,
        answers: [{ state }],
      })),
      { line: 'export show acme ..' },
      { line: 'export delete acme ../../acme' },
    ],
  },
  queues: {
    exports: {
      port: 'exportQueue',
      schema: exportMessage,
      wake: wakeExports,
      work: (deps: Deps, message: ExportMessage, deadlineMs) => runExportStep(deps, { message, deadlineMs }),
    },
  },
  writer: {
    begin: (deps, path) => startExport(deps, { ...path, format: 'tar', isDryRun: false }),
    write: (deps, path, _, stored) =>
      startExport(deps, { ...path, format: 'tar', isDryRun: false, objects: [{ oid: stored }] }),
    end: (deps, { tenant }) => cancelExportsOf(deps, { tenant }),
  },
} satisfies TestedSubject;
