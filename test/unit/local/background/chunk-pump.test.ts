import { expect, it } from 'vitest';
import type { ChunkMessage } from '../../../../lambda/chunks/messages.ts';
import { inState, newUpload } from '../../../../lambda/chunks/rules/upload.ts';
import { defaultSettings } from '../../../../lambda/rules/settings.ts';
import type { PumpConsumer } from '../../../../local/background/pump.ts';
import { chunkPump, reopenUploads } from '../../../../local/background/work-pumps.ts';
import { memoryDeps } from '../../../support/memory/deps.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { FakeTime } from './fake-time.ts';

const path = { tenant: 'acme', repo: 'game', oid: 'a'.repeat(64), upload: 'b'.repeat(32) };
const prove = (chunk: number): ChunkMessage => ({
  step: 'prove',
  ...path,
  chunk,
  stateBefore: 'c'.repeat(64),
});

async function started({ isAlone = true, isFailing = false } = {}) {
  const time = new FakeTime();
  const { chunkedUploads } = memoryDeps();
  const upload = newUpload(defaultSettings, { ...path, sizeBytes: 10 ** 10, madeBy: 'ada', nowMs: 1 });
  await chunkedUploads.put(inState(upload, 'assembling', 2));
  const pump = chunkPump({ timers: time, log: recordingLog().log });
  const delivered: number[] = [];
  const consume: PumpConsumer = async ({ Records: [record] }) => {
    delivered.push(JSON.parse(record?.body ?? '').chunk);
    return { batchItemFailures: isFailing ? [{ itemIdentifier: 'm' }] : [] };
  };
  await pump.send([prove(0)]);
  await reopenUploads(chunkedUploads, isAlone);
  pump.deliverTo(consume);
  return { time, pump, delivered, stateOf: async () => (await chunkedUploads.read(path))?.state };
}

it.each([
  [true, 'open'],
  [false, 'assembling'],
])(
  'opens what a process that has died was assembling, if no other can be at it: %s',
  async (isAlone, state) => {
    const { stateOf } = await started({ isAlone });
    expect(await stateOf()).toBe(state);
  },
);

it('delivers what was sent before it began, and what fails 20 times in all', async () => {
  const { time, delivered, pump } = await started({ isFailing: true });
  await time.advance(0);
  expect(delivered).toEqual([0]);
  for (let seconds = 0; seconds < 120; seconds += 1) await time.advance(1_000);
  expect(delivered).toHaveLength(20);
  expect([pump.gaugeAs('chunks').queue, (await pump.gaugeAs('chunks').read()).waiting]).toEqual([
    'chunks',
    0,
  ]);
});

it('delivers nothing after its end', async () => {
  const { time, delivered, pump } = await started();
  await time.advance(0);
  await pump.close(0);
  await pump.send([prove(1)]);
  await time.advance(60_000);
  expect(delivered).toEqual([0]);
});
