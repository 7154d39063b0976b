import { describe, expect, it } from 'vitest';
import { whileRenewing } from '../../../../../lambda/adapters/lambda-scan/while-renewing.ts';

const everyMs = 1;

describe('work under a lease', () => {
  it('is renewed until it is done, and not afterwards', async () => {
    let renewals = 0;
    let done: (value: string) => void = () => {};
    const work = () =>
      new Promise<string>((resolve) => {
        done = resolve;
      });
    const renew = () => {
      renewals += 1;
      if (renewals === 3) done('done');
    };
    expect(await whileRenewing({ everyMs, renew, stop: new AbortController(), work })).toBe('done');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(renewals).toBe(3);
  });

  it('is given up, and told so, if it cannot be renewed', async () => {
    const stop = new AbortController();
    const renew = async () => {
      throw new Error('superseded');
    };
    const work = () => new Promise<never>(() => {});
    await expect(whileRenewing({ everyMs, renew, stop, work })).rejects.toThrow('superseded');
    expect(stop.signal.aborted).toBe(true);
  });

  it('ends with what it throws', async () => {
    const work = () => Promise.reject(new Error('no store'));
    const stop = new AbortController();
    await expect(whileRenewing({ everyMs, renew: () => {}, stop, work })).rejects.toThrow('no store');
  });

  it('ends if it is stopped from outside', async () => {
    const stop = new AbortController();
    const work = () => new Promise<never>(() => {});
    const running = whileRenewing({ everyMs: 60_000, renew: () => {}, stop, work });
    stop.abort(new Error('given up'));
    await expect(running).rejects.toThrow('given up');
  });
});
