import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { newWriteId, untilWritten } from '../../../../../lambda/adapters/dynamodb/until-written.ts';
import { LedgerUnavailableError } from '../../../../../lambda/ports/ledger-errors.ts';

/** The longest pauses, one after the other. */
let pausesMs: number[] = [];
beforeEach(() => {
  pausesMs = [];
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const { setTimeout: real } = globalThis;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms = 0) => {
    pausesMs.push(ms);
    return real(run, 0);
  }) as typeof setTimeout);
});
afterEach(() => void vi.restoreAllMocks());

/** Somebody else comes first so many times. */
const attempts = (failing: number) => {
  let made = 0;
  return {
    made: () => made,
    attempt: async () => {
      made += 1;
      return made > failing ? { result: made } : undefined;
    },
  };
};

describe('a write over what was read', () => {
  it('is made at once if nobody else writes', async () => {
    expect(await untilWritten({}, attempts(0).attempt)).toBe(1);
    expect(pausesMs).toEqual([]);
  });

  it('may have no result', async () => {
    expect(await untilWritten({}, async () => ({ result: undefined }))).toBeUndefined();
  });

  it('is made again after others, with pauses that double up to half a second', async () => {
    expect(await untilWritten({}, attempts(8).attempt)).toBe(9);
    expect(pausesMs).toEqual([10, 20, 40, 80, 160, 320, 500, 500]);
  });

  it('pauses as chance has it, so that those who wait do not come together again', async () => {
    vi.mocked(Math.random).mockReturnValueOnce(0.5).mockReturnValueOnce(0.25);
    await untilWritten({}, attempts(2).attempt);
    expect(pausesMs).toEqual([5, 5]);
  });

  it('pauses as its table does, if that has a clock of its own', async () => {
    const pauseUpTo = vi.fn(async () => undefined);
    await untilWritten({ pauseUpTo }, attempts(2).attempt);
    expect(pauseUpTo.mock.calls).toEqual([[10], [20]]);
    expect(pausesMs).toEqual([]);
  });

  it('is tried thirty times', async () => {
    expect(await untilWritten({}, attempts(29).attempt)).toBe(30);
    const { attempt, made } = attempts(30);
    const failure = untilWritten({}, attempt);
    await expect(failure).rejects.toThrow(LedgerUnavailableError);
    await expect(failure).rejects.toThrow('An item was changed by others in each of 30 attempts.');
    expect(made()).toBe(30);
  });

  it('fails with the attempt', async () => {
    const attempt = async () => {
      throw new LedgerUnavailableError('The table is down.');
    };
    await expect(untilWritten({}, attempt)).rejects.toThrow('The table is down.');
    expect(pausesMs).toEqual([]);
  });

  it('has a name of its own', () => {
    expect(newWriteId()).toMatch(/^[0-9a-f-]{36}$/);
    expect(newWriteId()).not.toBe(newWriteId());
  });
});
