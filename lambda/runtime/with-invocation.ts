import type { Invocations } from '../ports/invocations.ts';

/**
 * The edge of a function that no request calls: its log lines name this run, and so do the recounts that it
 * asks for.
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
