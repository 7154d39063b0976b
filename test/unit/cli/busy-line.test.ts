import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CliContext } from '../../../cli/context.ts';
import { BusyLine, WaitLine } from '../../../cli/progress.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function terminal(options: Partial<CliContext> = {}) {
  const texts: string[] = [];
  const context: CliContext = {
    program: 'lfs-quota',
    version: '1.2.3',
    env: {},
    out: (text) => texts.push(`out:${text}`),
    err: (text) => texts.push(text),
    nowMs: () => Date.now(),
    sleep: async () => undefined,
    isTerminal: false,
    errIsTerminal: true,
    errColumns: () => 30,
    ...options,
  };
  return { context, texts, busy: new BusyLine(context) };
}

const clear = '\r\u001b[K';

describe('what takes no longer than a second', () => {
  it('says nothing', () => {
    const { texts, busy } = terminal();
    const end = busy.begin(() => 'waiting');
    vi.advanceTimersByTime(999);
    end();
    vi.advanceTimersByTime(10_000);
    expect(texts).toEqual([]);
  });
});

describe('what takes longer', () => {
  it('says so, counts seconds, and takes the line away at its end', () => {
    const { texts, busy } = terminal();
    const end = busy.begin(() => 'waiting');
    vi.advanceTimersByTime(2200);
    end();
    vi.advanceTimersByTime(5000);
    expect(texts).toEqual([`${clear}waiting (1 s)`, `${clear}waiting (2 s)`, clear]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is what was begun first, as it is at the moment, though parts of it are short', () => {
    const { texts, busy } = terminal();
    let count = 0;
    const end = busy.begin(() => `listing: ${count}`);
    for (; count < 6; count += 1) {
      const endOfPart = busy.begin(() => 'waiting');
      vi.advanceTimersByTime(250);
      endOfPart();
    }
    end();
    expect(texts).toEqual([
      `${clear}listing: 3 (1 s)`,
      `${clear}listing: 4 (1 s)`,
      `${clear}listing: 5 (1 s)`,
      clear,
    ]);
  });

  it('fits the terminal, and leaves its last column free', () => {
    const { texts, busy } = terminal();
    busy.begin(() => 'waiting for https://lfs-quota.example.com');
    vi.advanceTimersByTime(1000);
    expect(texts).toEqual([`${clear}waiting for ht…mple.com (1 s)`]);
  });

  it('makes room for what is printed, and comes again', () => {
    const { texts, busy } = terminal();
    const end = busy.begin(() => 'listing');
    vi.advanceTimersByTime(1000);
    busy.hide();
    vi.advanceTimersByTime(250);
    end();
    expect(texts).toEqual([`${clear}listing (1 s)`, clear, `${clear}listing (1 s)`, clear]);
  });

  it('is silent while another line is seen', () => {
    const { context, texts, busy } = terminal();
    const line = new WaitLine(context, { isQuiet: false });
    line.show('copying: 10 %');
    const end = busy.begin(() => 'waiting');
    vi.advanceTimersByTime(3000);
    expect(texts).toEqual([`${clear}copying: 10 %`]);
    line.clear();
    vi.advanceTimersByTime(250);
    expect(texts.at(-1)).toBe(`${clear}waiting (3 s)`);
    end();
  });

  it('ends when it fails', async () => {
    const { texts, busy } = terminal();
    const failed = busy.during(
      () => 'waiting',
      async () => {
        await vi.advanceTimersByTimeAsync(1000);
        throw new Error('no');
      },
    );
    await expect(failed).rejects.toThrow('no');
    expect(texts.at(-1)).toBe(clear);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([{ errIsTerminal: false }, { env: { TERM: 'dumb' } }])(
    'says nothing without a terminal: %j',
    (options) => {
      const { texts, busy } = terminal(options);
      busy.begin(() => 'waiting');
      vi.advanceTimersByTime(5000);
      expect(texts).toEqual([]);
      expect(vi.getTimerCount()).toBe(0);
    },
  );
});

describe('a line of a command that waits', () => {
  it('is redrawn on standard error, and its result goes to standard output', () => {
    const { context, texts } = terminal();
    const line = new WaitLine(context, { isQuiet: false });
    line.show('3 objects left');
    line.show('3 objects left');
    line.end('game is empty.');
    line.clear();
    expect(texts).toEqual([`${clear}3 objects left`, clear, 'out:game is empty.\n']);
  });

  it('is a new one for each text without a terminal, or none if it is quiet', () => {
    const { context, texts } = terminal({ errIsTerminal: false });
    const line = new WaitLine(context, { isQuiet: false });
    line.show('copying');
    line.show('copying');
    line.clear();
    line.end('done.');
    const quiet = new WaitLine(context, { isQuiet: true });
    quiet.show('copying');
    quiet.end('done.');
    expect(texts).toEqual(['copying\n', 'out:done.\n']);
  });
});
