const causesMax = 5;

/** Why something failed: the names and messages of an error and its causes, the outermost first. */
export function errorChain(error: unknown): string {
  return chainOf(error)
    .map((cause) => (cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)))
    .join(' < ');
}

/** The stack line at which the innermost cause was thrown. */
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
