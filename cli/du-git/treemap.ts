import { cellsOf } from '../display-width.ts';

/** What a rectangle of the map stands for. */
export interface MapItem {
  readonly label: string;
  /** Shown below the label if there is room for all of it. */
  readonly note: string;
  readonly weight: number;
}

interface Rectangle {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** A cell of a terminal is about twice as high as it is wide. */
const cellRatio = 2;
/** Two borders, and some of a label between them. */
const leastWidth = 6;
const leastHeight = 3;
/** Of those that are drawn as one: as many of all as it takes for a rectangle somewhere. */
const othersShares = [0, 0.015, 0.05, 0.1, 0.2];

/**
 * Draws items as rectangles whose areas are their shares: squarified, the largest at the top left. An item that is too
 * small for a rectangle shares the last one with others.
 *
 * @param options.width of the map, in cells. @param options.drawLines by lines; otherwise by `+`, `-` and `|`.
 * @returns lines, each with its newline. Empty if nothing has any weight.
 */
export function treemap(
  items: readonly MapItem[],
  { width, height, drawLines }: { width: number; height: number; drawLines: boolean },
): string {
  const all = items.filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight);
  const total = all.reduce((sum, { weight }) => sum + weight, 0);
  for (let shown = all.length; shown > 0; shown -= 1) {
    for (const share of shown === all.length ? [0] : othersShares) {
      const rest = others(all.slice(shown - 1), total * share);
      const drawn = shown === all.length ? all : [...all.slice(0, shown - 1), rest];
      const places = placesOf(drawn, { width, height });
      if (places) return draw(drawn, places, { width, height, drawLines });
    }
  }
  return '';
}

/** Drawn larger than it is, if it would not be seen otherwise. */
function others(items: readonly MapItem[], weightMin: number): MapItem {
  const weight = items.reduce((sum, item) => sum + item.weight, 0);
  return { label: `+${items.length}`, note: 'smaller', weight: Math.max(weight, weightMin) };
}

/** @returns undefined if one of them would be too small. */
function placesOf(
  items: readonly MapItem[],
  size: { width: number; height: number },
): Rectangle[] | undefined {
  const places: Rectangle[] = [];
  let left: Rectangle = { left: 0, top: 0, ...size };
  let weightLeft = items.reduce((sum, { weight }) => sum + weight, 0);
  for (let begin = 0; begin < items.length; ) {
    const count = rowLength(items.slice(begin), { left, weightLeft });
    const row = items.slice(begin, begin + count);
    const rowWeight = row.reduce((sum, { weight }) => sum + weight, 0);
    const isLast = begin + count === items.length;
    const isColumn = left.width >= left.height * cellRatio;
    const whole = isColumn ? left.width : left.height;
    const thick = isLast ? whole : Math.round((whole * rowWeight) / weightLeft);
    const strip = isColumn ? { ...left, width: thick } : { ...left, height: thick };
    places.push(...divided(strip, { row, rowWeight, isColumn }));
    left = isColumn
      ? { ...left, left: left.left + thick, width: left.width - thick }
      : { ...left, top: left.top + thick, height: left.height - thick };
    weightLeft -= rowWeight;
    begin += count;
  }
  return places.every(({ width, height }) => width >= leastWidth && height >= leastHeight)
    ? places
    : undefined;
}

/** How many of the next items make the best row along the shorter side: the one whose worst shape is nearest to a square. */
function rowLength(
  items: readonly MapItem[],
  { left, weightLeft }: { left: Rectangle; weightLeft: number },
): number {
  const [wide, high] = [left.width, left.height * cellRatio];
  const [side, area] = [Math.min(wide, high), wide * high];
  let [best, sum, smallest] = [Number.POSITIVE_INFINITY, 0, Number.POSITIVE_INFINITY];
  const largest = items[0]?.weight ?? 0;
  for (const [index, { weight }] of items.entries()) {
    sum += weight;
    smallest = Math.min(smallest, weight);
    const [rowArea, unit] = [(area * sum) / weightLeft, area / weightLeft];
    const thick = rowArea / side;
    const worst = Math.max((largest * unit) / thick ** 2, thick ** 2 / (smallest * unit));
    if (worst > best) return index;
    best = worst;
  }
  return items.length;
}

/** A strip, divided among the items of a row. */
function divided(
  strip: Rectangle,
  { row, rowWeight, isColumn }: { row: readonly MapItem[]; rowWeight: number; isColumn: boolean },
): Rectangle[] {
  const whole = isColumn ? strip.height : strip.width;
  let [sum, at] = [0, 0];
  return row.map(({ weight }) => {
    sum += weight;
    const end = Math.round((whole * sum) / rowWeight);
    const place = isColumn
      ? { ...strip, top: strip.top + at, height: end - at }
      : { ...strip, left: strip.left + at, width: end - at };
    at = end;
    return place;
  });
}

const lines = { corners: ['┌', '┐', '└', '┘'], across: '─', down: '│', more: '…' } as const;
const signs = { corners: ['+', '+', '+', '+'], across: '-', down: '|', more: '~' } as const;

function draw(
  items: readonly MapItem[],
  places: readonly Rectangle[],
  { width, height, drawLines }: { width: number; height: number; drawLines: boolean },
): string {
  const { corners, across, down, more } = drawLines ? lines : signs;
  const cells = Array.from({ length: height }, () => new Array<string>(width).fill(' '));
  const put = (x: number, y: number, text: string) => {
    const row = cells[y];
    if (row) for (const [index, cell] of cellsOf(text).entries()) row[x + index] = cell;
  };
  places.forEach((place, index) => {
    const { left, top } = place;
    const [right, bottom] = [left + place.width - 1, top + place.height - 1];
    const edge = across.repeat(place.width - 2);
    put(left, top, corners[0] + edge + corners[1]);
    put(left, bottom, corners[2] + edge + corners[3]);
    for (let y = top + 1; y < bottom; y += 1) {
      put(left, y, down);
      put(right, y, down);
    }
    const item = items[index];
    const room = place.width - 2;
    put(left + 1, top + 1, cut(item?.label ?? '', room, more));
    const note = item?.note ?? '';
    if (place.height > 3 && [...note].length <= room) put(left + 1, top + 2, note);
  });
  return cells.map((row) => `${row.join('').trimEnd()}\n`).join('');
}

/** The end of a path says more than its beginning. */
function cut(text: string, room: number, more: string): string {
  const cells = cellsOf(text);
  if (cells.length <= room) return text;
  if (room < 2) return '';
  const [first, ...others] = cells.slice(cells.length - room + 1);
  // Half of a wide letter is none.
  return more + [first || ' ', ...others].join('');
}
