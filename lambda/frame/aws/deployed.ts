import { setFlagsFromString } from 'node:v8';
import type { Context } from 'aws-lambda';

/**
 * The deployed form of a handler. On Lambda it is composed while the container starts, which has a full core. A test
 * or the embedded stack only imports the file, so nothing is composed before the first call.
 *
 * @param prepare runs while the container starts, so that the first request need not wait for it.
 */
export async function deployed<D, E, R>(
  create: (deps: D) => (event: E, context: Context) => Promise<R>,
  compose: () => D,
  prepare: (deps: D) => Promise<void> = async () => undefined,
): Promise<(event: E, context: Context) => Promise<R>> {
  const onLambda = process.env['AWS_LAMBDA_FUNCTION_NAME'] !== undefined;
  if (!onLambda) {
    let handler: ReturnType<typeof create> | undefined;
    return (event, context) => {
      handler ??= create(compose());
      return handler(event, context);
    };
  }
  const deps = compose();
  await prepare(deps);
  return create(deps);
}

/**
 * Prepares a process through which gigabytes pass. Each 64 MB of them make V8 mark its heap, and bit by bit that takes a third
 * of an export's CPU. All at once it's seldom, and takes 30 ms, for which nobody waits here.
 */
export async function markHeapAtOnce(): Promise<void> {
  setFlagsFromString('--no-incremental-marking');
}
