import type { Invocations } from '../ports/invocations.ts';

/**
 * The edge of a function that is not called by an HTTP request. Its log lines name this invocation, and so do the
 * recounts that it requests.
 */
export function withInvocation<E, R>(
  invocations: Invocations,
  handler: (event: E, context: { readonly awsRequestId: string }) => Promise<R>,
): (event: E, context: { readonly awsRequestId: string }) => Promise<R> {
  return (event, context) => {
    const { awsRequestId } = context;
    const ids = { requestId: awsRequestId, functionRequestId: awsRequestId };
    return invocations.during(ids, () => handler(event, context));
  };
}
