import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import { overTls, type Response } from '../api/http.ts';
import type { Invocations } from '../ports/invocations.ts';
import { AuditUnavailableError, LedgerUnavailableError, NewerFormatError } from '../ports/ledger-errors.ts';
import type { Log } from '../ports/log.ts';
import { StoreUnavailableError } from '../ports/object-store.ts';
import { storageFullIn } from '../ports/storage-full.ts';

export type HttpHandler = (event: APIGatewayProxyEventV2, context: Context) => Promise<Response>;

/** Builds an error response in the format of one API. */
export type ErrorResponder = (statusCode: 500 | 503, message: string, requestId: string) => Response;

interface GuardDeps {
  readonly log: Log;
  readonly invocations: Invocations;
}

/**
 * The edge of every HTTP function. The log lines within it name the request, and so do the recounts that it requests.
 *
 * If the handler throws, the client gets a 500 or 503 in the API's own error format. The log has the error. None of it
 * reaches the client, except the message of a storage that is full.
 */
export function guard(deps: GuardDeps, respondError: ErrorResponder, handler: HttpHandler): HttpHandler {
  const guarded = respondToErrors(deps.log, respondError, handler);
  return (event, context) => {
    const ids = { requestId: event.requestContext.requestId, functionRequestId: context.awsRequestId };
    return deps.invocations.during(ids, async () => overTls(event, await guarded(event, context)));
  };
}

function respondToErrors(log: Log, respondError: ErrorResponder, handler: HttpHandler): HttpHandler {
  return async (event, context) => {
    const { requestId } = event.requestContext;
    try {
      return await handler(event, context);
    } catch (error) {
      log.error('request failed', { route: event.routeKey, error });
      const unavailable = unavailableMessage(error);
      if (unavailable !== undefined) {
        const response = respondError(503, unavailable, requestId);
        return { ...response, headers: { ...response.headers, 'retry-after': '5' } };
      }
      const message = `Something broke on our side. Report it with the request id ${requestId}.`;
      return respondError(500, message, requestId);
    }
  };
}

/** What the client is told if the storage cannot be used now; undefined for any other error. */
function unavailableMessage(error: unknown): string | undefined {
  const full = storageFullIn(error);
  if (full) return full.message;
  if (error instanceof NewerFormatError) {
    return 'This tenant was written by a newer version of the service. Its operator must deploy that version again.';
  }
  if (error instanceof AuditUnavailableError) {
    return 'Nothing was changed, because the audit cannot be written now. Try again in a moment.';
  }
  if (error instanceof StoreUnavailableError || error instanceof LedgerUnavailableError) {
    return 'The storage behind this service does not answer. Try again in a moment.';
  }
  return undefined;
}
