/**
 * What keeps the table, the objects or the queue has no room left. AWS has no such limit; the disk of an embedded stack
 * has. The message goes to the client: it says what to do, and holds no secret.
 */
export class StorageFullError extends Error {
  override readonly name = 'StorageFullError';
}

const causesMax = 5;

/** The first such error among an error and its causes. */
export function storageFullIn(error: unknown): StorageFullError | undefined {
  let cause = error;
  for (let depth = 0; cause instanceof Error && depth < causesMax; depth += 1) {
    if (cause instanceof StorageFullError) return cause;
    cause = cause.cause;
  }
  return undefined;
}
