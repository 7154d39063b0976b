import type { Context } from 'aws-lambda';

/**
 * The deployed form of a handler. On Lambda it is composed while the container starts, which has a full core.
 * A test or the embedded stack, which only imports the file, composes nothing.
 *
 * @param prepare what the first request should not have to wait for; done while the container starts.
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
  // The parts of a start, for `npm run bench -- functions`.
  performance.mark('lfs-quota.compose');
  const deps = compose();
  performance.mark('lfs-quota.prepare');
  await prepare(deps);
  return create(deps);
}
