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
