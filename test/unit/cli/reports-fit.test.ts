import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatReport as duReport } from '../../../cli/du/report.ts';
import { formatPaths as duGitReport } from '../../../cli/du-git/report.ts';
import { displayWidth, type View } from '../../../cli/terminal.ts';

/** Tables of commands that ask no API, or more than one: see every-command.test.ts for the others. */

const view = (width: number): View => ({
  nowMs: Date.parse('2026-11-21T05:00:00Z'),
  width,
  paint: (_, text) => text,
});
const widths = fc.constantFrom(40, 60, 80, 120);
const bytes = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const path = fc
  .array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 5 })
  .map((parts) => parts.map((part) => part.replaceAll('/', '-')).join('/'));

/** The lines of a text from its heading on, up to an empty one. */
function tableOf(text: string, heading: RegExp): string[] {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => heading.test(line));
  expect(start).toBeGreaterThanOrEqual(0);
  const end = lines.indexOf('', start);
  return lines.slice(start, end < 0 ? undefined : end);
}

const fits = (lines: readonly string[], width: number) => {
  for (const line of lines) expect(displayWidth(line), line).toBeLessThanOrEqual(width);
};

describe('the table of folders of du', () => {
  it('fits, with all numbers', () => {
    const folder = fc.record({
      folder: path.map((name) => `${name}/`),
      bytes: bytes.map(BigInt),
      objects: bytes,
    });
    fc.assert(
      fc.property(fc.array(folder, { minLength: 1, maxLength: 10 }), widths, (largest, width) => {
        const sums = { bytes: 10n ** 18n, objects: 10 ** 15, requests: 5, failed: 0, throttled: 0 };
        const times = { runs: 1, beganMs: 0, endedMs: 1000, activeMs: 1000 };
        const groups = [largest.map(({ folder, ...sum }) => ({ folder: folder.slice(0, 16), ...sum }))];
        const count = { ...sums, ...times, folders: { folderCount: 12, largest }, groups };
        const folders = { depth: 1, top: 10 };
        const order = 'parallel' as const;
        const scan = { bucket: 'b', prefix: '', endpoint: null, order, folders, by: ['suffix'] as const };
        const report = { scan, count, requestPrice: undefined, top: 10 };
        const text = duReport(report, { ...view(width), drawBlocks: true });
        fits(tableOf(text, /SUFFIX/), width);
        const table = tableOf(text, /FOLDER/);
        fits(table, width);
        for (const { objects } of largest)
          expect(table.join('\n')).toContain(objects.toLocaleString('en-US'));
      }),
    );
  });
});

describe('the picture and the table of du --git', () => {
  it('fit, with all numbers', () => {
    const file = fc.record({
      path,
      bytes: fc.integer({ min: 1, max: 2 ** 40 }),
      objectCount: fc.integer({ min: 1, max: 10 ** 9 }),
    });
    fc.assert(
      fc.property(fc.array(file, { minLength: 1, maxLength: 10 }), widths, (files, width) => {
        const sum = { bytes: 2 ** 45, objectCount: 10 ** 9 };
        const none = { bytes: 0, objectCount: 0 };
        const usage = {
          files: files.map((each) => ({ ...each, currentBytes: 0 })),
          stored: sum,
          inNoCommit: none,
          others: none,
          notStoredCount: 0,
        };
        const address = { baseUrl: 'https://x', tenant: 't', repo: 'r' };
        const options = { depth: undefined, top: 20, view: view(width), drawBlocks: true };
        const text = duGitReport(address, usage, options);
        fits(tableOf(text, /stored {2}/), width);
        const picture = text.split('\n').filter((line) => /[┌│└]/.test(line));
        fits(picture, width);
        // What is drawn by lines has its right edge in one place.
        for (const line of picture.slice(0, 1)) expect(displayWidth(line)).toBe(Math.min(width, 100));
      }),
    );
  });
});
