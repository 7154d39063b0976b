import { describe, expect, it } from 'vitest';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import type { ChunkMessage } from '../../../../../lambda/subjects/chunks/messages.ts';
import { inState, newUpload } from '../../../../../lambda/subjects/chunks/rules/upload.ts';
import { wakeUploads } from '../../../../../lambda/subjects/chunks/wake.ts';
import { ManualClock, memoryDeps, recordingJobs } from '../../../../support/memory/deps.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

const day = 24 * 3_600_000;

async function world(count: number) {
  const clock = new ManualClock();
  const { queue, messages } = recordingJobs<ChunkMessage>();
  const { log, entries } = recordingLog();
  const deps = memoryDeps({ clock, chunkQueue: queue, log });
  const paths = Array.from({ length: count }, (_, index) => ({
    tenant: 'acme',
    repo: 'game',
    oid: 'a'.repeat(64),
    upload: index.toString(16).padStart(32, '0'),
  }));
  const nowMs = clock.nowMs();
  for (const path of paths)
    await deps.chunkedUploads.put(
      newUpload(defaultSettings, { ...path, sizeBytes: 10 ** 10, madeBy: 'ada', nowMs }),
    );
  return { clock, deps, messages, entries, paths };
}

describe('the schedule', () => {
  it('queues a look at each upload that is due, again until it is removed', async () => {
    const { clock, deps, messages, paths } = await world(3);
    const [ended, second, third] = paths;
    if (!ended || !second || !third) throw new Error('Three paths.');
    expect(await wakeUploads(deps)).toBe(0);
    await deps.chunkedUploads.change(ended, (upload) => inState(upload, 'ended', clock.nowMs()));
    for (let run = 0; run < 2; run += 1) expect(await wakeUploads(deps)).toBe(1);
    expect(messages).toEqual([
      { step: 'tidy', ...ended },
      { step: 'tidy', ...ended },
    ]);
    await deps.chunkedUploads.remove(ended);
    clock.advance(2 * day);
    expect(await wakeUploads(deps)).toBe(2);
    expect(messages.slice(2)).toEqual([
      { step: 'tidy', ...second },
      { step: 'tidy', ...third },
    ]);
  });

  it('queues a bounded number, those that are due longest', async () => {
    const { clock, deps, messages } = await world(1001);
    clock.advance(2 * day);
    expect(await wakeUploads(deps)).toBe(1000);
    expect(messages).toHaveLength(1000);
  });

  it('goes on if the queue does not take them', async () => {
    const { clock, deps, entries } = await world(1);
    clock.advance(2 * day);
    const chunkQueue = { send: () => Promise.reject(new Error('No.')) };
    expect(await wakeUploads({ ...deps, chunkQueue })).toBe(0);
    expect(entries.map(({ message }) => message)).toEqual(['chunked uploads not queued']);
  });
});
