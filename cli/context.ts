/** What the command line touches of its surroundings, so that tests can stand in for them. */
export interface CliContext {
  /** How the person calls the command line, such as `npx lfs-quota`: for the help and for hints. */
  readonly program: string;
  /** As in package.json. */
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly nowMs: () => number;
  readonly sleep: (durationMs: number) => Promise<void>;
  /** Colour, cursor movement and redrawing only where a person watches. */
  readonly isTerminal: boolean;
  /** Asks the person at the terminal; undefined where nobody is there. No answer is an empty one. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
}

/** True where the terminal's locale can show the blocks a bar is drawn with. */
export function canDrawBlocks(env: CliContext['env']): boolean {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  return locale === '' || /utf-?8/i.test(locale);
}
