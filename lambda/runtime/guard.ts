import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import type { Response } from '../http/respond.ts';
import type { Invocations } from '../ports/invocations.ts';
import { LedgerUnavailableError } from '../ports/ledger.ts';
import type { Log } from '../ports/log.ts';
import { StoreUnavailableError } from '../ports/object-store.ts';

export type HttpHandler = (event: APIGatewayProxyEventV2, context: Context) => Promise<Response>;

/** How an API words its errors. */
export type ErrorResponder = (statusCode: 500 | 503, message: string, requestId: string) => Response;

interface GuardDeps {
  readonly log: Log;
  readonly invocations: Invocations;
}

/**
 * The edge of every HTTP function. Each line logged in it names the request, and so do the recounts it asks for.
 *
 * An error that a use case throws becomes an answer in the API's own error format, and the log says what broke.
 * None of it reaches the client.
 */
export function guard(deps: GuardDeps, respondError: ErrorResponder, handler: HttpHandler): HttpHandler {
  const answered = answerErrors(deps.log, respondError, handler);
  return (event, context) => {
    const ids = { requestId: event.requestContext.requestId, functionRequestId: context.awsRequestId };
    return deps.invocations.during(ids, () => answered(event, context));
  };
}

function answerErrors(log: Log, respondError: ErrorResponder, handler: HttpHandler): HttpHandler {
  return async (event, context) => {
    const { requestId } = event.requestContext;
    try {
      return await handler(event, context);
    } catch (error) {
      log.error('request failed', { route: event.routeKey, error });
      const unavailable = error instanceof StoreUnavailableError || error instanceof LedgerUnavailableError;
      const answer = unavailable
        ? respondError(
            503,
            'The storage behind this service does not answer. Try again in a moment.',
            requestId,
          )
        : respondError(
            500,
            `Something broke on our side. Report it with the request id ${requestId}.`,
            requestId,
          );
      return unavailable ? { ...answer, headers: { ...answer.headers, 'retry-after': '5' } } : answer;
    }
  };
}
