import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Turns } from '../../../local/turns.ts';

// The longest pause ends when a test says so, however busy the machine is.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const small = { bodyBytes: 500 };
const large = { bodyBytes: 100_000 };

/** A request that runs until it is told to end. */
function running(turns: Turns, request: { bodyBytes: number }) {
  let end = () => {};
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { end: () => end(), ended: turns.during(request, () => over) };
}

/** Notes a name once a promise resolved. */
function noting(notes: string[]) {
  return (name: string, promise: Promise<unknown>) =>
    promise.then(() => {
      notes.push(name);
    });
}

describe('the work for a large request', () => {
  it('pauses until no small request is running', async () => {
    const turns = new Turns();
    const notes: string[] = [];
    const note = noting(notes);
    const [first, second] = [running(turns, small), running(turns, small)];
    const paused = note(
      'large',
      turns.during(large, () => turns.pause()),
    );
    await nextTurn();
    first.end();
    await note('first', first.ended);
    second.end();
    await note('second', second.ended);
    await paused;
    expect(notes).toEqual(['first', 'second', 'large']);
  });

  it('goes on after some milliseconds, however many small ones there are', async () => {
    const turns = new Turns();
    const notes: string[] = [];
    const note = noting(notes);
    const endless = running(turns, small);
    const paused = note(
      'large',
      turns.during(large, () => turns.pause()),
    );
    await nextTurn();
    await nextTurn();
    expect(notes).toEqual([]);
    vi.advanceTimersByTime(20);
    await paused;
    endless.end();
    await endless.ended;
  });

  it('pauses for one turn if there is no other', async () => {
    const turns = new Turns();
    const notes: string[] = [];
    const other = running(turns, large);
    const paused = noting(notes)(
      'large',
      turns.during(large, () => turns.pause()),
    );
    for (let task = 0; task < 50; task += 1) await undefined;
    expect(notes).toEqual([]);
    await paused;
    other.end();
    await other.ended;
  });

  it('goes on in one turn each, so that a small request that comes meanwhile is served between them', async () => {
    const turns = new Turns();
    const notes: string[] = [];
    const note = noting(notes);
    const before = running(turns, small);
    const paused = ['a', 'b'].map((name) =>
      note(
        name,
        turns.during(large, () => turns.pause()),
      ),
    );
    await nextTurn();
    await nextTurn();
    before.end();
    await before.ended;
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
    const turns = new Turns();
    const notes: string[] = [];
    const note = noting(notes);
    const request = running(turns, small);
    const paused = note('background', turns.pause());
    await nextTurn();
    request.end();
    await note('small', request.ended);
    await paused;
    expect(notes).toEqual(['small', 'background']);
  });

  it('pauses too if a small request began it, once that has its answer', async () => {
    const turns = new Turns();
    const notes: string[] = [];
    const note = noting(notes);
    let background: Promise<void> | undefined;
    const other = running(turns, small);
    await turns.during(small, async () => {
      background = nextTurn().then(() => note('background', turns.pause()));
    });
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    other.end();
    await note('other', other.ended);
    await background;
    expect(notes).toEqual(['other', 'background']);
  });
});

it('the work for a small request never pauses', async () => {
  const turns = new Turns();
  const notes: string[] = [];
  const note = noting(notes);
  const other = running(turns, small);
  const turn = note('turn', nextTurn());
  await note(
    'small',
    turns.during(small, () => turns.pause()),
  );
  await turn;
  expect(notes).toEqual(['small', 'turn']);
  other.end();
  await other.ended;
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
