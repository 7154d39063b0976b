import { setTimeout as sleep } from 'node:timers/promises';
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import type { Ledger } from '../../core/ledger/ledger.ts';
import type { Invocations, Log } from '../../core/rules/clock-and-log.ts';
import {
  AuditUnavailableError,
  AwsServiceError,
  LedgerUnavailableError,
  NewerFormatError,
  SecretError,
  storageFullIn,
} from '../../core/rules/errors.ts';
import type { Metrics } from '../../core/rules/metrics.ts';
import { StoreUnavailableError } from '../../core/store/rules/store.ts';
import { overTls, type Response, withOneLogin } from '../api/http.ts';

export type HttpHandler = (event: APIGatewayProxyEventV2, context: Context) => Promise<Response>;

/** Builds an error response in the format of one API. */
export type ErrorResponder = (statusCode: 400 | 500 | 503, message: string, requestId: string) => Response;

interface GuardDeps {
  readonly log: Log;
  readonly invocations: Invocations;
}

/**
 * The edge of every HTTP function. The log lines within it name the request, and so do the reconciles that it requests.
 *
 * If the handler throws, the client gets a 500 or 503 in the API's own error format. The log has the error. None of it
 * reaches the client, except the message of a storage that is full.
 */
export function guard(deps: GuardDeps, respondError: ErrorResponder, handler: HttpHandler): HttpHandler {
  const guarded = respondToErrors(deps.log, respondError, handler);
  return (event, context) => {
    const ids = { requestId: event.requestContext.requestId, functionRequestId: context.awsRequestId };
    return deps.invocations.during(ids, async () => {
      const asked = withOneLogin(event);
      const answer = asked ? guarded(asked, context) : respondError(400, twoLogins, ids.requestId);
      return overTls(event, await answer);
    });
  };
}

const twoLogins =
  'Two Authorization headers arrived, and they differ. Send one. In Git, find them: git config --show-origin --get-regexp extraheader';

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
      const message = `Internal error. Report it with the request ID ${requestId}.`;
      return respondError(500, message, requestId);
    }
  };
}

/** What the client is told if the storage cannot be used now; undefined for any other error. */
function unavailableMessage(error: unknown): string | undefined {
  const full = storageFullIn(error);
  if (full) return full.message;
  if (error instanceof NewerFormatError) {
    return 'A newer version of lfs-quota changed this tenant. The operator must deploy that version again.';
  }
  if (error instanceof AuditUnavailableError) {
    return "Nothing changed, because the audit log can't be written. Retry.";
  }
  if (error instanceof StoreUnavailableError || error instanceof LedgerUnavailableError) {
    return "The table or object store doesn't respond. Retry in a few seconds.";
  }
  if (error instanceof AwsServiceError) {
    const what = error.status === undefined ? "doesn't respond" : 'failed';
    return `${error.title ?? 'The queue'} ${what}. Retry in a few seconds.`;
  }
  if (error instanceof SecretError)
    return "A secret of this server can't be used. Its log explains what to do.";
  return undefined;
}

/**
 * The edge of a function that is not called by an HTTP request. Its log lines name this invocation, and so do the
 * reconciles that it requests.
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

/**
 * The edge of a function with metrics. It sends what an invocation measured before the invocation ends, whether it
 * succeeds or fails. After that the container is frozen, possibly for ever.
 */
export function withMetrics<A extends unknown[], R>(
  metrics: Metrics,
  handler: (...args: A) => Promise<R>,
): (...args: A) => Promise<R> {
  return async (...args) => {
    try {
      return await handler(...args);
    } finally {
      metrics.flush();
    }
  };
}

/**
 * What a container does while it starts, so that its first request need not do it. A start has a full core. A request
 * has only the share of a core that the function's memory setting grants.
 */

/** A listing that can parse made-up pages, so that its code is compiled. */
interface WarmListing {
  warmUp(): Promise<void>;
}

/** Parses made-up pages. On a share of a core, the first pages of the first scan would take several times as long. */
export const warmUpScan = (deps: { listing: WarmListing }) => deps.listing.warmUp();

/** A start must not depend on the table. If the table is broken, the first request will report it. */
const tableWarmUpMaxMs = 1000;

/**
 * Reads an item that does not exist. This opens the connection, with its TLS handshake, and compiles the code that
 * every request runs. Never throws.
 */
export async function warmUpTable(deps: { ledger: Pick<Ledger, 'readTenant'> }): Promise<void> {
  const read = deps.ledger.readTenant('').catch(() => undefined);
  await Promise.race([read, sleep(tableWarmUpMaxMs)]);
}

export async function warmUpTableAndScan(
  deps: Parameters<typeof warmUpTable>[0] & Parameters<typeof warmUpScan>[0],
): Promise<void> {
  // One waits for the network while the other uses the CPU.
  await Promise.all([warmUpTable(deps), warmUpScan(deps)]);
}
