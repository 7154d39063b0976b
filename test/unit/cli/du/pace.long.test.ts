import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Pace } from '../../../../cli/du/paced-listing.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/**
 * Keeps asking for a number of seconds, against a store that answers at once and objects above a limit.
 *
 * @returns what was sent in each second.
 */
async function drive(pace: Pace, seconds: number, limitOf: (second: number) => number): Promise<number[]> {
  const sent = new Array<number>(seconds).fill(0);
  const startMs = performance.now();
  const ask = async () => {
    for (;;) {
      await pace.turn();
      const second = Math.floor((performance.now() - startMs) / 1000);
      if (second >= seconds) return;
      sent[second] = (sent[second] ?? 0) + 1;
      pace.noteAnswer({ isThrottling: (sent[second] ?? 0) > limitOf(second) });
      // What a connection takes.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  // Each ends with the reason for which the pace is closed.
  const asking = Array.from({ length: 64 }, () => ask().catch(() => {}));
  await vi.advanceTimersByTimeAsync(seconds * 1000 + 1);
  pace.close(new Error('over'));
  await vi.advanceTimersByTimeAsync(1000);
  await Promise.all(asking);
  return sent;
}

const unlimited = () => Number.POSITIVE_INFINITY;
const most = (sent: readonly number[]) => Math.max(...sent);
const mean = (sent: readonly number[]) => sent.reduce((sum, value) => sum + value, 0) / sent.length;

describe('the pace of requests', () => {
  it.each([1, 7, 50, 400])('stays below a ceiling of %i a second', async (rateMax) => {
    const sent = await drive(new Pace({ rateMax }), 20, unlimited);
    // A tenth of a second may be made up for after a pause, but at least one request.
    expect(most(sent)).toBeLessThanOrEqual(rateMax + Math.max(1, rateMax / 10));
    expect(mean(sent)).toBeGreaterThan(rateMax * 0.95 - 0.1);
  });

  it('ramps up to what the connections take', async () => {
    const sent = await drive(new Pace(), 4, unlimited);
    expect(sent[0]).toBeLessThan(1500);
    expect(sent.at(-1)).toBeGreaterThan(3000);
  });

  it('finds a limit of the store, stays near it, and says to what it slowed down', async () => {
    const pace = new Pace();
    const sent = await drive(pace, 50, () => 300);
    const later = sent.slice(10);
    expect(most(later)).toBeLessThan(300 * 1.2);
    expect(mean(later)).toBeGreaterThan(300 * 0.8);
    const refused = later.reduce((sum, value) => sum + Math.max(0, value - 300), 0);
    expect(refused / later.length).toBeLessThan(300 * 0.05);
  });

  it('recovers slowly once the limit is gone', async () => {
    const pace = new Pace();
    const sent = await drive(pace, 40, (second) => (second < 5 ? 100 : 400));
    expect(sent[8]).toBeLessThan(300);
    expect(sent.at(-1)).toBeGreaterThan(1.5 * (sent[10] ?? 0));
  });

  it('goes on asking a store that always objects, though not often', async () => {
    const pace = new Pace();
    const sent = await drive(pace, 60, () => 0);
    expect(pace.slowedTo).toBe(10);
    for (const count of sent.slice(30)) {
      expect(count).toBeGreaterThanOrEqual(8);
      expect(count).toBeLessThanOrEqual(12);
    }
  });

  it('lets nothing pass once it is closed', async () => {
    const pace = new Pace({ rateMax: 1 });
    await pace.turn();
    const waiting = pace.turn();
    pace.close(new Error('over'));
    await expect(waiting).rejects.toThrow('over');
    await expect(pace.turn()).rejects.toThrow('over');
    expect(vi.getTimerCount()).toBe(0);
  });
});
