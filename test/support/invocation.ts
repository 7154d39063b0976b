import { lambdaContext } from '../../local/lambda-context.ts';
import { httpEvent } from './http-event.ts';

/** An API Gateway event for the request with this id. */
export function requestOf(requestId: string) {
  const event = httpEvent({ routeKey: 'GET /x' });
  return { ...event, requestContext: { ...event.requestContext, requestId } };
}

/** The context of the invocation with this id, of the function `management`. */
export function contextOf(awsRequestId: string) {
  return { ...lambdaContext({ functionName: 'management', timeLimitMs: 1000 }), awsRequestId };
}

/** Lets the other invocations continue. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
