import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { CopyOutcome } from '../../../../../lambda/subjects/downloads/lfs/copier.ts';
import { create } from '../../../../../lambda/subjects/downloads/lfs/copy-handler.ts';
import type { CopyMessage } from '../../../../../lambda/subjects/downloads/lfs/messages.ts';
import { deliver } from '../../../../support/delivery.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

describe('what copies from git hosts', () => {
  const clock = new ManualClock();
  let outcome: CopyOutcome;
  let copied: unknown[];
  let delays: number[];
  let logged: ReturnType<typeof recordingLog>;
  let ended: unknown[];
  const place = { tenant: 'acme', repo: 'game', oid: 'a'.repeat(64) };
  const message: CopyMessage = {
    ...place,
    sizeBytes: 5,
    from: 'https://store.example.com/signed?signature=theirs',
    to: { href: 'https://bucket.example.com/key?signature=ours', header: { 'x-amz-a': 'b' } },
    untilMs: clock.nowMs() + 60_000,
  };

  beforeEach(() => {
    outcome = { kind: 'copied' };
    copied = [];
    delays = [];
    logged = recordingLog();
    ended = [];
  });

  async function run(body: unknown, failures = 0): Promise<boolean> {
    const copier = {
      copy: async ({ stop, ...input }: { stop: AbortSignal }) => {
        copied.push(input);
        return outcome;
      },
    };
    const own = memoryDeps({ clock, log: logged.log });
    const copies = { ...own.copies, end: async (end: unknown) => void ended.push(end) };
    const consume = create({ ...own, copies, copier });
    const delivered = await deliver(consume, body, { receiveCount: failures + 1, leftMs: 900_000 });
    delays.push(...delivered.delays);
    expect(JSON.stringify(logged.entries)).not.toMatch(/signature|signed/);
    return delivered.isDone;
  }

  it('copies by the two URLs, and says what', async () => {
    expect(await run(message)).toBe(true);
    const { from, to, sizeBytes } = message;
    expect(copied).toEqual([{ from, to, sizeBytes }]);
    expect(ended).toEqual([{ ...place, failed: undefined }]);
    expect(logged.entries).toMatchObject([
      { message: 'object copied', fields: { tenant: 'acme', repo: 'game', sizeBytes: 5 } },
    ]);
  });

  it('tries again what may succeed, twice', async () => {
    outcome = { kind: 'failed', reason: 'connection' };
    const isEnded = [];
    for (const failures of [0, 1, 2]) isEnded.push(await run(message, failures));
    expect(isEnded).toEqual([false, false, true]);
    expect(ended).toEqual([{ ...place, failed: 'connection' }]);
    expect(delays).toEqual([30_000, 30_000]);
  });

  it('gives up what would fail again, and what has expired', async () => {
    outcome = { kind: 'refused', reason: 'store-400' };
    expect(await run(message)).toBe(true);
    expect(logged.entries).toMatchObject([{ message: 'object not copied', fields: { reason: 'store-400' } }]);
    copied = [];
    expect(await run({ ...message, untilMs: clock.nowMs() })).toBe(true);
    expect(copied).toEqual([]);
    expect(ended).toEqual([
      { ...place, failed: 'store-400' },
      { ...place, failed: 'expired' },
    ]);
  });

  it('gives no source longer than its bytes need at the slowest', async () => {
    const timeout = vi.spyOn(AbortSignal, 'timeout');
    await run({ ...message, sizeBytes: 500_000 });
    expect(timeout.mock.calls).toContainEqual([61_000]);
    timeout.mockRestore();
  });

  it.each([
    ['no message', 'x'],
    ['another tenant', { ...message, tenant: '../x' }],
    ['no oid', { ...message, oid: 'x' }],
    ['a URL of another scheme', { ...message, from: 'file:///etc/passwd' }],
    ['no length', { ...message, sizeBytes: -1 }],
  ])('does nothing for %s', async (_what, body) => {
    expect(await run(body)).toBe(false);
    expect(copied).toEqual([]);
    expect(logged.entries).toMatchObject([{ level: 'error', message: 'unreadable message' }]);
  });
});
