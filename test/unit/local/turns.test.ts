import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Turns } from '../../../local/turns.ts';

// The longest pause ends when a test says so, however busy the machine is.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const small = { bodyBytes: 500 };
const large = { bodyBytes: 100_000 };

/** Requests that run until they are told to end, and work that pauses. What is over is noted by its name. */
function setUp() {
  const turns = new Turns();
  const notes: string[] = [];
  const note = (name: string, promise: Promise<unknown>) => promise.then(() => void notes.push(name));
  const running = (request: { bodyBytes: number }, name?: string) => {
    let release = () => {};
    const over = new Promise<void>((resolve) => {
      release = resolve;
    });
    const ended = turns.during(request, () => over);
    const noted = name === undefined ? ended : note(name, ended);
    return async () => {
      release();
      await noted;
    };
  };
  const pausing = (name: string, request: { bodyBytes: number }) =>
    note(
      name,
      turns.during(request, () => turns.pause()),
    );
  return { turns, notes, note, running, pausing };
}

describe('the work for a large request', () => {
  it('pauses until no small request is running', async () => {
    const { notes, running, pausing } = setUp();
    const [endFirst, endSecond] = [running(small, 'first'), running(small, 'second')];
    const paused = pausing('large', large);
    await nextTurn();
    await endFirst();
    await endSecond();
    await paused;
    expect(notes).toEqual(['first', 'second', 'large']);
  });

  it('goes on after some milliseconds, however many small ones there are', async () => {
    const { notes, running, pausing } = setUp();
    const end = running(small);
    const paused = pausing('large', large);
    await nextTurn();
    await nextTurn();
    expect(notes).toEqual([]);
    vi.advanceTimersByTime(20);
    await paused;
    await end();
  });

  it('pauses for one turn if there is no other', async () => {
    const { notes, running, pausing } = setUp();
    const end = running(large);
    const paused = pausing('large', large);
    for (let task = 0; task < 50; task += 1) await undefined;
    expect(notes).toEqual([]);
    await paused;
    await end();
  });

  it('goes on in one turn each, so that a small request that comes meanwhile is served between them', async () => {
    const { turns, notes, note, running, pausing } = setUp();
    const end = running(small);
    const paused = ['a', 'b'].map((name) => pausing(name, large));
    await nextTurn();
    await nextTurn();
    await end();
    // Comes as soon as the first of them goes on.
    const between = note(
      'small',
      turns.during(small, () => nextTurn()),
    );
    await Promise.all([...paused, between]);
    expect(notes).toEqual(['a', 'small', 'b']);
  });
});

describe('work that no request waits for', () => {
  it('pauses as that of a large one', async () => {
    const { turns, notes, note, running } = setUp();
    const end = running(small, 'small');
    const paused = note('background', turns.pause());
    await nextTurn();
    await end();
    await paused;
    expect(notes).toEqual(['small', 'background']);
  });

  it('pauses too if a small request began it, once that has its answer', async () => {
    const { turns, notes, note, running } = setUp();
    let background: Promise<void> | undefined;
    const end = running(small, 'other');
    await turns.during(small, async () => {
      background = nextTurn().then(() => note('background', turns.pause()));
    });
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    await end();
    await background;
    expect(notes).toEqual(['other', 'background']);
  });
});

it('the work for a small request never pauses', async () => {
  const { notes, note, running, pausing } = setUp();
  const end = running(small);
  const turn = note('turn', nextTurn());
  await pausing('small', small);
  await turn;
  expect(notes).toEqual(['small', 'turn']);
  await end();
});

describe('a series of short pieces', () => {
  /** How many pieces went on after so many turns. */
  async function progress(request: { bodyBytes: number }, pieces: number): Promise<number[]> {
    const turns = new Turns();
    let done = 0;
    const all = turns.during(request, async () => {
      const series = Array.from({ length: pieces }, async () => {
        await turns.pauseAfter(4);
        done += 1;
      });
      await Promise.all(series);
    });
    const seen: number[] = [];
    for (; done < pieces; seen.push(done)) await nextTurn();
    await all;
    return seen;
  }

  it('for a large request pauses after so many of them', async () => {
    expect(await progress(large, 10)).toEqual([3, 7, 10]);
  });

  it('for a small request does not pause', async () => {
    expect(await progress(small, 10)).toEqual([10]);
  });
});
