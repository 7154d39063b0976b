import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Column, renderTable } from '../../../cli/table.ts';
import { displayWidth, printable } from '../../../cli/terminal.ts';

const columns: Column[] = [
  { name: 'repo', least: 8 },
  { name: 'stored', right: true },
  { name: 'objects', right: true },
  { name: 'counted' },
  { name: 'note', wraps: true },
];
const rows = [
  ['game-with-a-long-name', '1.5 GiB', '1,204', '12 s ago', 'limit: 10 → 20'],
  ['art', '-', '-', 'never', ''],
];
const at = (width: number | undefined, options: { hasHeading?: boolean } = {}) =>
  renderTable(columns, rows, { width, ...options })
    .split('\n')
    .slice(0, -1);

describe('a table', () => {
  it('is as wide as it gets without a terminal', () => {
    expect(at(undefined)).toEqual([
      'repo                    stored  objects  counted   note',
      'game-with-a-long-name  1.5 GiB    1,204  12 s ago  limit: 10 → 20',
      'art                          -        -  never',
    ]);
    expect(at(65)).toEqual(at(undefined));
  });

  it('first shortens what may be, in the middle', () => {
    expect(at(60)).toEqual([
      'repo               stored  objects  counted   note',
      'game-wit…ng-name  1.5 GiB    1,204  12 s ago  limit: 10 → 20',
      'art                     -        -  never',
    ]);
  });

  it('then lets columns go below, from the right, and with room again shows more of the others', () => {
    expect(at(50)).toEqual([
      'repo                    stored  objects  counted',
      'game-with-a-long-name  1.5 GiB    1,204  12 s ago',
      '  note: limit: 10 → 20',
      'art                          -        -  never',
    ]);
    expect(at(20)).toEqual([
      'repo          stored',
      'game-…-name  1.5 GiB',
      '  objects: 1,204',
      '  counted: 12 s ago',
      '  note: limit: 10 →',
      '  20',
      'art                -',
      '  counted: never',
    ]);
  });

  it('puts what goes below together where it fits', () => {
    expect(renderTable(['a', 'b', 'c'], [['x'.repeat(20), '1', '2']], { width: 20 })).toBe(
      `a\n${'x'.repeat(20)}\n  b: 1  c: 2\n`,
    );
  });

  it('keeps what names the row, wherever that is', () => {
    const named: Column[] = [
      { name: 'size', right: true, stays: true },
      { name: 'share', right: true },
      { name: 'path', least: 8, stays: true },
    ];
    expect(renderTable(named, [['1023.99 GiB', '99.9%', 'textures/stone.png']], { width: 24 })).toBe(
      '       size  path\n1023.99 GiB  textu…e.png\n  share: 99.9%\n',
    );
  });

  it('shortens an id only where it is alone and still does not fit', () => {
    const oid = `${'a'.repeat(32)}${'b'.repeat(32)}`;
    const table = (width: number) =>
      renderTable(['oid', { name: 'size', right: true }], [[oid, '5 B']], { width, hasHeading: false });
    expect(table(69)).toBe(`${oid}  5 B\n`);
    expect(table(64)).toBe(`${oid}\n  size: 5 B\n`);
    expect(table(21)).toBe('aaaaaaaaaa…bbbbbbbbbb\n  size: 5 B\n');
  });

  it('has a heading that may be shown in another way, after it was aligned', () => {
    const text = renderTable(['a', 'b'], [['xx', 'y']], {
      width: 80,
      paint: (colour, line) => `<${colour} ${line}>`,
    });
    expect(text).toBe('<bold a   b>\nxx  y\n');
  });

  it('lets nothing of other origin break a line', () => {
    expect(renderTable(['a'], [['x\n\u001b[2Jy\u202ez\u2028']], { width: undefined })).toBe(
      'a\nx\ufffd\ufffd[2Jy\ufffdz\ufffd\n',
    );
  });
});

describe('any table', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 60 });
  const number = fc.bigInt({ min: 0n, max: 10n ** 15n }).map(String);
  const anyTable = fc
    .array(
      fc.record({
        name: fc.constantFrom('id', 'stored', 'room is free', ''),
        kind: fc.constantFrom('number', 'text', 'short text', 'prose'),
        stays: fc.boolean(),
      }),
      { minLength: 1, maxLength: 8 },
    )
    .chain((kinds) =>
      fc.record({
        columns: fc.constant(
          kinds.map(
            ({ name, kind, stays }): Column => ({
              name,
              stays,
              ...(kind === 'number' && { right: true }),
              ...(kind === 'short text' && { least: 8 }),
              ...(kind === 'prose' && { wraps: true }),
            }),
          ),
        ),
        rows: fc.array(
          fc.tuple(...kinds.map(({ kind }) => (kind === 'number' ? number : text))) as fc.Arbitrary<string[]>,
          { maxLength: 5 },
        ),
      }),
    );

  it('fits any terminal of 40 cells or more, and cuts no number and no heading', () => {
    fc.assert(
      fc.property(anyTable, fc.integer({ min: 40, max: 160 }), ({ columns: of, rows: cells }, width) => {
        const table = renderTable(of, cells, { width });
        for (const line of table.split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(width);
        expect(table.slice(0, table.indexOf('\n'))).not.toContain('…');
        const words = table.split(/\s+/);
        for (const row of cells)
          for (const [index, cell] of row.entries()) if (of[index]?.right) expect(words).toContain(cell);
      }),
    );
  });

  it('is whole without a terminal', () => {
    fc.assert(
      fc.property(anyTable, ({ columns: of, rows: cells }) => {
        const table = renderTable(of, cells, { width: undefined });
        expect(table.match(/\n/g)).toHaveLength(cells.length + 1);
        for (const row of cells) for (const cell of row) expect(table).toContain(printable(cell).trimEnd());
      }),
    );
  });
});
