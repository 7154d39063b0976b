import { expect, it } from 'vitest';
import { ProgressLine, type ProgressTerminal } from '../../../cli/commands/du-progress.ts';

interface Input {
  readonly env?: Record<string, string>;
  readonly share?: number;
}

/** What is written two seconds after a scan began. */
function written(terminal: ProgressTerminal, { env = {}, share }: Input): string {
  let nowMs = 0;
  let text = '';
  const context = {
    program: 'lfs-quota',
    version: '1.2.3',
    env,
    out: () => {},
    err: (part: string) => {
      text += part;
    },
    nowMs: () => nowMs,
    sleep: async () => {},
    isTerminal: true,
  };
  const line = new ProgressLine(context, terminal);
  nowMs = 2000;
  line.show({ storedBytes: 5 * 1024 ** 3, objectCount: 48_000, requests: 56, share });
  return text;
}

function shown(columns: number | undefined, input: Input): string {
  const text = written({ isShown: true, columns: () => columns }, input);
  // The carriage return in front, and the control sequence that clears the rest of the line.
  expect(text.startsWith('\r') && text.endsWith('\u001b[K')).toBe(true);
  return text.slice(1, -3);
}

it('shows what was counted, the requests and the rate', () => {
  expect(shown(120, { share: 0.509 })).toBe(
    '48,000 objects, 5 GiB, 56 requests, 24,000 objects/s, 50 % of the key space',
  );
});

it('shows no share if it would mean nothing', () => {
  expect(shown(120, {})).toBe('48,000 objects, 5 GiB, 56 requests, 24,000 objects/s');
});

it.each([
  [76, '48,000 objects, 5 GiB, 56 requests, 24,000 objects/s, 50 % of the key space'],
  [75, '48,000 objects, 5 GiB, 56 requests, 24,000 objects/s'],
  [40, '48,000 objects, 5 GiB, 56 requests'],
  [10, '48,000 ob'],
])('never reaches the last of %i columns', (columns, text) => {
  expect(shown(columns, { share: 0.5 })).toBe(text);
});

it('takes the width from COLUMNS if the terminal does not tell it, and 80 without it', () => {
  expect(shown(0, { share: 0.5, env: { COLUMNS: '40' } })).toBe('48,000 objects, 5 GiB, 56 requests');
  expect(shown(undefined, { share: 0.5, env: { COLUMNS: '30' } })).toBe('48,000 objects, 5 GiB');
  expect(shown(0, { share: 0.5 })).toHaveLength(75);
});

it('draws nothing without a terminal', () => {
  expect(written({ isShown: false, columns: () => 80 }, { share: 0.5 })).toBe('');
});
