const causesMax = 5;

/** Why something failed, for the log: names and messages of an error and its causes, the outermost first. */
export function errorChain(error: unknown): string {
  const reasons: string[] = [];
  for (let cause = error; cause !== undefined && reasons.length < causesMax; ) {
    reasons.push(cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return reasons.join(' < ');
}
