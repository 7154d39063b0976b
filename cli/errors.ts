/** A command that failed for a reason that the person at the terminal can act on: exit 1. */
export class CliError extends Error {
  override readonly name = 'CliError';
  /** What to do next, as a sentence. */
  readonly hint: string | undefined;

  constructor(message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.hint = options.hint;
  }
}

/** A command that was called in a way that cannot work: exit 2, and nothing was sent. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
