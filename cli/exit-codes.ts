/** How a command ends, for scripts. The codes never change their meaning. */
export const exitCodes = {
  done: { code: 0, meaning: 'it is done' },
  failed: { code: 1, meaning: 'it failed, and the message says why' },
  usage: { code: 2, meaning: 'the command line is wrong, or there is no token; nothing was sent' },
  'not-found': { code: 3, meaning: 'there is no such thing, or the token may not know of it' },
  unauthorized: { code: 4, meaning: 'the token was rejected, or it may not do this' },
  refused: { code: 5, meaning: 'the service refused it as it was asked; nothing was changed' },
  unavailable: { code: 6, meaning: 'no answer, or too busy: the same may work later' },
  interrupted: { code: 130, meaning: 'stopped by Ctrl-C' },
} as const;

/** Of a command that ran, and was not done. */
export type Failure = Exclude<keyof typeof exitCodes, 'done' | 'usage'>;

/** A line for each code. */
export function exitCodeLines(): string[] {
  return Object.values(exitCodes).map(({ code, meaning }) => `${String(code).padStart(3)}  ${meaning}`);
}
