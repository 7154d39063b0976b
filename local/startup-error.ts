/**
 * Why the stack can't start, in one line for the person who started it: what is wrong, and what to do next.
 * Anything else that is thrown while it starts is a bug or a broken dependency.
 */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}

/** The system's error code (`EADDRINUSE`, `ENOENT`, …) of an error or of what caused it, where one has it. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? errorCode(error.cause) : undefined;
}
