import { expect, it } from 'vitest';
import { newExportJob } from '../../../../lambda/exports/rules/job.ts';
import { create } from '../../../../lambda/handlers/export-archive.ts';
import { lambdaContext } from '../../../../local/lambda-context.ts';
import { MemoryArchiveStore } from '../../../support/memory/archive-store.ts';
import { memoryDeps } from '../../../support/memory/deps.ts';
import { recordingLog } from '../../../support/recording-log.ts';

const path = { tenant: 'acme', exportId: 'first' };
const request = {
  repo: null,
  listedObjects: null,
  isNamed: false,
  format: 'tar',
  isDryRun: true,
} as const;
const advance = { ...path, step: { kind: 'advance' } };

async function stack() {
  const { log, entries } = recordingLog();
  const archives = new MemoryArchiveStore();
  const deps = memoryDeps({ archives, objects: archives.objects, log });
  const job = newExportJob({ ...path, request, nowMs: deps.clock.nowMs(), limitMs: 86_400_000 });
  await deps.exportJobs.create(job, { placesMax: 1, nowMs: deps.clock.nowMs() });
  const delays: number[] = [];
  const delay = async ({ delayMs }: { delayMs: number }) => void delays.push(delayMs);
  const handler = create({ ...deps, redelivery: { delay } });
  const deliver = (...bodies: unknown[]) =>
    handler(
      {
        Records: bodies.map((body, index) => ({
          messageId: `m${index}`,
          receiptHandle: 'r',
          body: typeof body === 'string' ? body : JSON.stringify(body),
          attributes: {
            ApproximateReceiveCount: '2',
            SentTimestamp: '0',
            ApproximateFirstReceiveTimestamp: '0',
            SenderId: 's',
          },
          messageAttributes: {},
          md5OfBody: '',
          eventSource: 'aws:sqs',
          eventSourceARN: 'arn',
          awsRegion: 'local',
        })),
      },
      lambdaContext({ functionName: 'exportArchive', timeLimitMs: 300_000 }),
    );
  return { deps, archives, entries, delays, deliver };
}

it('does a step', async () => {
  const { deps, deliver, entries } = await stack();
  expect(await deliver(advance)).toEqual({ batchItemFailures: [] });
  expect((await deps.exportJobs.read(path))?.state).toBe('explained');
  expect(entries).toMatchObject([{ message: 'export step', fields: { outcome: 'explained' } }]);
});

it('hands back what it cannot read, or has failed, and does the others', async () => {
  const { deps, archives, deliver, entries, delays } = await stack();
  let isDown = true;
  archives.before = () => {
    if (isDown) throw new Error('The store is down.');
  };
  expect(await deliver('not json', advance)).toEqual({
    batchItemFailures: [{ itemIdentifier: 'm0' }, { itemIdentifier: 'm1' }],
  });
  expect(entries.map(({ message }) => message)).toEqual(['unreadable message', 'export step failed']);
  expect((await deps.exportJobs.read(path))?.failingSinceMs).toBe(deps.clock.nowMs());
  expect(delays).toEqual([10_000]);
  isDown = false;
  expect(await deliver(advance)).toEqual({ batchItemFailures: [] });
});

it('comes again if somebody else is at it, which is no failure', async () => {
  const { deps, deliver, entries } = await stack();
  await deps.exportJobs.change(path, (job) => ({ ...job, leaseUntilMs: deps.clock.nowMs() + 1 }));
  expect(await deliver(advance)).toEqual({ batchItemFailures: [{ itemIdentifier: 'm0' }] });
  expect(entries.map(({ message }) => message)).toEqual(['export busy']);
  expect((await deps.exportJobs.read(path))?.failingSinceMs).toBeNull();
});
