/**
 * Why the stack cannot start, in one line for the person who started it: what is wrong, and what to do next.
 * Any other error during the start is a bug or a broken dependency.
 */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}

/** The system's error code (`EADDRINUSE`, `ENOENT`, …) of an error or of its causes; undefined if there is none. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? errorCode(error.cause) : undefined;
}
