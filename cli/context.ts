import type { Readable } from 'node:stream';

/** Everything that the command line uses of the process around it. Tests replace it. */
export interface CliContext {
  /** How the person calls the command line, such as `npx lfs-quota`. The help and all hints use it. */
  readonly program: string;
  /** As in package.json. */
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly nowMs: () => number;
  readonly sleep: (durationMs: number) => Promise<void>;
  /** Standard output is a terminal. */
  readonly isTerminal: boolean;
  /** Its width; undefined if it has none. */
  readonly columns?: (() => number | undefined) | undefined;
  /** Standard error is a terminal. */
  readonly errIsTerminal: boolean;
  readonly errColumns?: (() => number | undefined) | undefined;
  /** The folder that the command is called in. Default: that of the process. */
  readonly folder?: string;
  /** The words that call the command line later, such as `lfs-quota`. Default: `program`. */
  readonly self?: readonly [string, ...string[]];
  /** Asks for what must not be seen; undefined without a terminal. */
  readonly askSecret?: ((question: string) => Promise<string>) | undefined;
  /** Standard input, for a command that another program talks to. */
  readonly input?: Readable;
  /** All of standard input, up to 64 KiB. */
  readonly readInput?: () => Promise<string>;
  /** Asks the person at the terminal; undefined without a terminal. Resolves to '' when there is no answer. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /**
   * Calls `listener` at the first Ctrl-C or SIGTERM, instead of ending the process. The second one ends it.
   * @returns what takes the listener away again.
   */
  readonly onInterrupt?: (listener: () => void) => () => void;
}

/** True if what was printed can be printed anew in its place. */
export function canRedraw(
  { env, isTerminal, errIsTerminal }: Pick<CliContext, 'env' | 'isTerminal' | 'errIsTerminal'>,
  stream: 'out' | 'err',
): boolean {
  return (stream === 'out' ? isTerminal : errIsTerminal) && env['TERM'] !== 'dumb';
}

/** True if the terminal's locale can show the block characters of the usage bar. */
export function canDrawBlocks(env: CliContext['env']): boolean {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  return locale === '' || /utf-?8/i.test(locale);
}

/** A text in which commands are called as the person calls this one. They begin after a backtick, a colon or an indent. */
export function asCalled(text: string, { program }: Pick<CliContext, 'program'>): string {
  return text.replaceAll(/(?<=`|: | {2})lfs-quota /g, () => `${program} `);
}
