import type { CliContext } from './context.ts';

const codes = { bold: [1, 22], red: [31, 39], yellow: [33, 39] } as const;

export type Colour = keyof typeof codes;
export type Paint = (colour: Colour, text: string) => string;

/**
 * Colours, for a terminal that has them: `NO_COLOR` takes them away, and `FORCE_COLOR` gives them to a file too
 * (no-color.org, force-color.org).
 */
export function painter(env: CliContext['env'], isTerminal: boolean): Paint {
  if (!hasColours(env, isTerminal)) return (_, text) => text;
  return (colour, text) => `\u001b[${codes[colour][0]}m${text}\u001b[${codes[colour][1]}m`;
}

const painted = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g');

/** A text as it was before it was painted. */
export const withoutColours = (text: string) => text.replace(painted, '');

function hasColours(env: CliContext['env'], isTerminal: boolean): boolean {
  if (env['NO_COLOR']) return false;
  const forced = env['FORCE_COLOR'];
  if (forced) return forced !== '0' && forced !== 'false';
  return isTerminal && env['TERM'] !== 'dumb';
}

/**
 * Text of other origin without what could break the line, control the terminal, or show letters in another order than
 * they have.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}

/** Reads JSON of other origin with all of its texts, and names, as {@link printable} has them. For `JSON.parse`. */
export function asPrintable(_: string, value: unknown): unknown {
  if (typeof value === 'string') return printable(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [printable(name), each]));
}

/** The last look at each text: JSON, too, leaves in what terminals may take for controls, and reads it like this as well. */
export const escaped = (text: string) =>
  text.replace(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** How many cells of a terminal a text takes. */

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Two cells each: East Asian Wide and Fullwidth, as Unicode 16 has them, without unassigned fine print. */
const wide =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d376}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u;
/** No cell: marks on the letter before, and signs that are not seen. */
const unseen = /^[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]+$/u;
const plain = /^[\x20-\x7e]*$/;

/** The cells of a text without control characters and colours. */
export function displayWidth(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** A text cell by cell: what takes two has an empty one behind it. */
export function cellsOf(text: string): string[] {
  const cells: string[] = [];
  for (const { segment } of graphemes.segment(text)) {
    const width = graphemeWidth(segment);
    if (width > 0) cells.push(segment, ...Array.from({ length: width - 1 }, () => ''));
  }
  return cells;
}

function graphemeWidth(segment: string): number {
  if (unseen.test(segment)) return 0;
  return wide.test(segment) ? 2 : 1;
}

/** The text with `…` in its middle if it takes more cells than `width`: names that begin alike end otherwise. */
export function shortened(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  if (width < 1) return '';
  const parts = [...graphemes.segment(text)].map(({ segment }) => segment);
  const tail = taken(parts.toReversed(), Math.floor((width - 1) / 2)).reverse();
  const head = taken(parts, width - 1 - displayWidth(tail.join('')));
  return `${head.join('')}…${tail.join('')}`;
}

/** The first of some graphemes, as many as fit. */
function taken(parts: readonly string[], width: number): string[] {
  let left = width;
  const end = parts.findIndex((part) => {
    left -= graphemeWidth(part);
    return left < 0;
  });
  return end < 0 ? [...parts] : parts.slice(0, end);
}

/** Lines of at most `width` cells, broken at spaces. A word that is longer is shortened in its middle. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').map((each) => shortened(each, width))) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (displayWidth(longer) <= width) {
      line = longer;
      continue;
    }
    lines.push(line);
    line = word;
  }
  return [...lines, line];
}

/** What a text for a person depends on besides what it says. */
export interface View {
  readonly nowMs: number;
  /** Cells of a line; undefined without a terminal: nothing is shortened there. */
  readonly width: number | undefined;
  readonly paint: Paint;
}

/** Of a terminal that does not tell its own. */
const columnsDefault = 80;

/** @param stream where the text goes. */
export function viewOf(context: CliContext, stream: 'out' | 'err' = 'out'): View {
  const { env } = context;
  const isTerminal = stream === 'out' ? context.isTerminal : context.errIsTerminal;
  return {
    nowMs: context.nowMs(),
    width: terminalWidth(context, stream),
    paint: painter(env, isTerminal),
  };
}

/** Cells of a line; undefined without a terminal. */
export function terminalWidth(
  context: Pick<CliContext, 'isTerminal' | 'columns' | 'errIsTerminal' | 'errColumns' | 'env'>,
  stream: 'out' | 'err',
): number | undefined {
  const { isTerminal, columns } =
    stream === 'out' ? context : { isTerminal: context.errIsTerminal, columns: context.errColumns };
  return isTerminal ? columns?.() || Number(context.env['COLUMNS']) || columnsDefault : undefined;
}
