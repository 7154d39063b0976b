import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { treemap } from '../../../../cli/du-git/report.ts';

const item = (label: string, weight: number) => ({ label, note: `${weight} B`, weight });
const map = (items: ReturnType<typeof item>[], width = 24, height = 8, drawLines = true) =>
  treemap(items, { width, height, drawLines });

describe('a map of shares', () => {
  it('draws areas that are the shares, the largest at the left', () => {
    expect(map([item('b/', 1), item('a/', 2), item('c', 1)])).toBe(
      [
        '┌──────────┐┌──────────┐',
        '│a/        ││b/        │',
        '│2 B       ││1 B       │',
        '│          │└──────────┘',
        '│          │┌──────────┐',
        '│          ││c         │',
        '│          ││1 B       │',
        '└──────────┘└──────────┘',
        '',
      ].join('\n'),
    );
  });

  it('draws by signs if the terminal has no others, and shows the end of what is too long', () => {
    expect(map([item('assets/textures/wall.psd', 1)], 14, 3, false)).toBe(
      ['+------------+', '|~es/wall.psd|', '+------------+', ''].join('\n'),
    );
  });

  it('shows what is too small for a rectangle as others, with all of it', () => {
    const items = [item('large', 1000), ...Array.from({ length: 50 }, (_, at) => item(`small ${at}`, 1))];
    const drawn = map(items, 40, 10);
    expect(drawn).toContain('large');
    expect(drawn).toMatch(/│\+50 /);
  });

  it('is empty if nothing has any weight', () => {
    expect(map([item('a', 0)])).toBe('');
    expect(map([])).toBe('');
  });

  it('covers its whole area, whatever the shares are', () => {
    const weights = fc.array(fc.integer({ min: 1, max: 1_000_000 }), { minLength: 1, maxLength: 40 });
    const sizes = fc.record({
      width: fc.integer({ min: 20, max: 100 }),
      height: fc.integer({ min: 4, max: 30 }),
    });
    fc.assert(
      fc.property(weights, sizes, (shares, size) => {
        const items = shares.map((weight, at) => ({ label: `${at}`, note: '', weight }));
        const lines = treemap(items, { ...size, drawLines: true })
          .split('\n')
          .slice(0, -1);
        expect(lines).toHaveLength(size.height);
        // A border at each end of each line: nothing lies beyond, and nothing is left over.
        for (const line of lines) {
          expect(line).toHaveLength(size.width);
          expect('┌│└').toContain(line[0]);
          expect('┐│┘').toContain(line.at(-1));
        }
        const corners = [...lines.join('')];
        const count = (sign: string) => corners.filter((each) => each === sign).length;
        expect(new Set(['┌', '┐', '└', '┘'].map(count)).size).toBe(1);
      }),
      { numRuns: 200 },
    );
  });
});
