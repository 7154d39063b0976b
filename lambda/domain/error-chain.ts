const causesMax = 5;

/** Names and messages of an error and its causes, the outermost first: `A: text < B: text`. At most 5 of them. */
export function errorChain(error: unknown): string {
  return chainOf(error)
    .map((cause) => (cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)))
    .join(' < ');
}

/** The line of the stack trace at which the innermost cause was thrown. */
export function thrownAt(error: unknown): string | undefined {
  const innermost = chainOf(error).findLast((cause) => cause instanceof Error);
  return innermost?.stack
    ?.split('\n')
    .find((line) => /^\s+at /.test(line))
    ?.trim();
}

function chainOf(error: unknown): unknown[] {
  const causes: unknown[] = [];
  for (let cause = error; cause !== undefined && causes.length < causesMax; ) {
    causes.push(cause);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return causes;
}
