import { exitCodeLines } from '../exit-codes.ts';
import type { Example } from './examples.ts';

/** What follows the options in the help of a command. */
export function commandHelp(examples: readonly Example[]): string {
  const lines = examples.flatMap(([line, what]) => [
    ...(what === undefined ? [] : [`  # ${what}`]),
    `  ${line}`,
  ]);
  return `\n${examples.length === 1 ? 'Example' : 'Examples'}:\n${lines.join('\n')}`;
}

/** What follows the commands in the help of all. */
export function mainHelp(program: string): string {
  return `
Help and examples of a command:
  ${program} tenant create --help

Environment:
  LFS_QUOTA_URL    address of the API; default: http://127.0.0.1:8787
  LFS_QUOTA_TOKEN  the token, which no process list shows there
  NO_COLOR         no colours; FORCE_COLOR: also where there is no terminal

Exit codes:
${exitCodeLines()
  .map((line) => `  ${line}`)
  .join('\n')}`;
}
