import { expect, it } from 'vitest';
import { ProgressLine } from '../../../../cli/du/report.ts';

interface Input {
  readonly env?: Record<string, string>;
  readonly share?: number;
  readonly hintObjects?: number;
  readonly slowedTo?: number;
  readonly dollars?: number;
  readonly isTerminal?: boolean;
  readonly columns?: number | undefined;
}

const none = { failed: 0, throttled: 0, runs: 1, beganMs: 0, endedMs: 0, activeMs: 0 };

/** All that is written while a scan counts 24,000 objects with 28 requests each second, for `seconds`. */
function written(seconds: number, input: Input): string {
  let nowMs = 1_000_000;
  let text = '';
  const context = {
    program: 'lfs-quota',
    version: '1.2.3',
    env: input.env ?? {},
    out: () => {},
    err: (part: string) => {
      text += part;
    },
    nowMs: () => nowMs,
    sleep: async () => {},
    isTerminal: true,
    errIsTerminal: input.isTerminal ?? true,
    errColumns: () => ('columns' in input ? input.columns : 200),
  };
  const { share, slowedTo } = input;
  const line = new ProgressLine(context, () => input.dollars, input.hintObjects);
  for (let second = 0; second <= seconds; second += 1) {
    const sums = { ...none, bytes: 5n * 1024n ** 3n, objects: second * 24_000, requests: second * 28 };
    nowMs = 1_000_000 + second * 1000;
    line.show(() => ({ sums, share, slowedTo }));
  }
  return text;
}

function lastShown(input: Input): string {
  const text = written(2, input);
  // The carriage return in front, and the control sequence that clears the line.
  const start = '\r\u001b[K';
  expect(text.startsWith(start)).toBe(true);
  return text.split(start).at(-1) ?? '';
}

const shown = (columns: number | undefined, input: Input) => lastShown({ ...input, columns });
const counted = '48,000 objects, 5 GiB';
const rates = '24,000 objects/s, 56 requests, 28 requests/s';

it('shows what was counted, the share, the time left, the rates and the price', () => {
  expect(lastShown({ share: 0.25, dollars: 0.5 })).toBe(
    `${counted}, 25 % done, 6 s left, 24,000 objects/s, 56 requests ($0.50), 28 requests/s`,
  );
});

it('shows no share if it would mean nothing', () => {
  expect(lastShown({})).toBe(`${counted}, ${rates}`);
});

it('takes the share from a hint then, and does not believe it to the end', () => {
  expect(lastShown({ hintObjects: 480_000 })).toBe(`${counted}, 10 % done, 18 s left, ${rates}`);
  expect(lastShown({ hintObjects: 1000 })).toContain('99 % done');
});

it('says when the store asked to slow down', () => {
  expect(lastShown({ slowedTo: 69.7 })).toBe(`${counted}, ${rates}, the store asked to slow down to 70/s`);
});

it.each([
  [68, `${counted}, ${rates}`],
  [67, `${counted}, 24,000 objects/s, 56 requests`],
  [51, `${counted}, 24,000 objects/s, 56 requests`.slice(0, 39)],
  [10, '48,000 ob'],
])('never reaches the last of %i columns', (columns, text) => {
  expect(shown(columns, {})).toBe(text);
});

it('takes the width from COLUMNS if the terminal does not tell it, and 80 without it', () => {
  expect(shown(0, { env: { COLUMNS: '30' } })).toBe(counted);
  expect(shown(undefined, { env: { COLUMNS: '15' } })).toBe('48,000 objects');
  expect(shown(0, { dollars: 12_345_678 })).toBe(
    `${counted}, 24,000 objects/s, 56 requests ($12,345,678.00)`,
  );
});

it('writes a line each half minute without a terminal, and none in the first', () => {
  expect(written(29, { isTerminal: false })).toBe('');
  const lines = written(95, { isTerminal: false }).split('\n');
  expect(lines).toHaveLength(4);
  expect(lines[0]).toBe('720,000 objects, 5 GiB, 24,000 objects/s, 840 requests, 28 requests/s');
});
