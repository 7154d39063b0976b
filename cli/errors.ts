/** The command failed for a reason that the person at the terminal can act on. Exit code 1. */
export class CliError extends Error {
  override readonly name = 'CliError';
  /** What to do next, as a sentence. Commands in it are written as `lfs-quota …`. */
  readonly hint: string | undefined;

  constructor(message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.hint = options.hint;
  }
}

/** The command was called in a way that cannot work. Exit code 2; nothing was sent. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
