import type { Failure } from './exit-codes.ts';

/** The command failed for a reason that the person at the terminal can act on. */
export class CliError extends Error {
  override readonly name = 'CliError';
  /** What to do next, as a sentence. Commands in it are written as `lfs-quota …`. */
  readonly hint: string;
  /** By which the exit code is chosen. */
  readonly failure: Failure;

  /** @param options.failure without it, that of the cause. */
  constructor(message: string, options: { hint: string; failure?: Failure; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.hint = options.hint;
    this.failure = options.failure ?? (options.cause instanceof CliError ? options.cause.failure : 'failed');
  }
}

/** The command was called in a way that cannot work; nothing was sent. What it says is what to do. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
