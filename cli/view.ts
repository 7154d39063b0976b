import { type Paint, painter } from './colour.ts';
import type { CliContext } from './context.ts';

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
