import type { CliContext } from './context.ts';

/** What a text for a person depends on besides what it says. */
export interface View {
  readonly nowMs: number;
  /** Cells of a line; undefined without a terminal: nothing is shortened there. */
  readonly width: number | undefined;
  /** How the heading of a table is shown. */
  readonly emphasize: (text: string) => string;
}

/** Of a terminal that does not tell its own. */
const columnsDefault = 80;

/** @param stream where the text goes. */
export function viewOf(context: CliContext, stream: 'out' | 'err' = 'out'): View {
  const { env } = context;
  const { isTerminal, columns } =
    stream === 'out' ? context : { isTerminal: context.errIsTerminal, columns: context.errColumns };
  return {
    nowMs: context.nowMs(),
    width: isTerminal ? columns?.() || Number(env['COLUMNS']) || columnsDefault : undefined,
    emphasize: (text) => text,
  };
}
