import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type * as z from 'zod';
import { formatBytes } from '../../domain/bytes.ts';
import { hasPrototypeField, parseJson } from '../../domain/json.ts';
import type { RouteKey } from '../../routes.ts';
import type { Deps } from '../../use-cases/deps.ts';
import { firstIssue } from '../json.ts';
import { problem } from '../problems.ts';
import { bodyText, hasContentType } from '../request.ts';
import type { Response } from '../respond.ts';
import type { Access } from './access.ts';

export type ManagementDeps = Pick<
  Deps,
  | 'ledger'
  | 'tokens'
  | 'requestKeys'
  | 'locks'
  | 'admin'
  | 'issuers'
  | 'exchangeRules'
  | 'downloads'
  | 'history'
  | 'warnings'
  | 'webhooks'
  | 'webhookQueue'
  | 'webhookUrls'
  | 'store'
  | 'listing'
  | 'queue'
  | 'exportJobs'
  | 'exportQueue'
  | 'exportSettings'
  | 'signer'
  | 'clock'
  | 'ids'
  | 'log'
  | 'settings'
> & {
  /** It only asks for exports: others make them. */
  readonly archives: Pick<Deps['archives'], 'put'>;
};

/** One operation of the management API: checks access, decodes, calls a use case, answers. */
export type Operation = (deps: ManagementDeps, event: APIGatewayProxyEventV2) => Promise<Response>;

/** The operations of one subject, by their routes. */
export type Operations = Partial<Readonly<Record<RouteKey<'management'>, Operation>>>;

type Decoded<B> =
  | { readonly ok: true; readonly body: B }
  | { readonly ok: false; readonly response: Response };

type BodyReader<B> = (deps: Pick<Deps, 'settings'>, event: APIGatewayProxyEventV2) => Decoded<B>;

/** What an operation needs before it can begin. */
export interface OperationNeeds<A extends object, Q, B> {
  readonly access: (deps: ManagementDeps, event: APIGatewayProxyEventV2) => Promise<Access<A>>;
  readonly query: z.ZodType<Q>;
  readonly body: BodyReader<B>;
}

/**
 * Checks access first, so that nobody learns more from an error than what their credentials let them see. Then
 * decodes query and body, and runs.
 */
export function operation<A extends object, Q, B>(
  needs: OperationNeeds<A, Q, B>,
  run: (
    deps: ManagementDeps,
    input: A & { query: Q; body: B; event: APIGatewayProxyEventV2 },
  ) => Promise<Response>,
): Operation {
  return async (deps, event) => {
    const access = await needs.access(deps, event);
    if (!access.ok) return access.response;
    const query = needs.query.safeParse(event.queryStringParameters ?? {});
    if (!query.success) return problem('invalid-query', `${firstIssue(query.error)}.`);
    const decoded = needs.body(deps, event);
    if (!decoded.ok) return decoded.response;
    return run(deps, { ...access, query: query.data, body: decoded.body, event });
  };
}

/** For operations without a body. One that is sent all the same is not read. */
export const noBody: BodyReader<undefined> = () => ({ ok: true, body: undefined });

/** Reads a JSON body by a schema. @param bytesMax default: what the stage takes. */
export function jsonBody<T>(schema: z.ZodType<T>, bytesMax?: number): BodyReader<T> {
  return ({ settings }, event) => {
    const largest = Math.min(settings.bodyBytesMax, bytesMax ?? settings.bodyBytesMax);
    const refuse = (...why: Parameters<typeof problem>) => ({
      ok: false as const,
      response: problem(...why),
    });
    if (!hasContentType(event, 'application/json'))
      return refuse('unsupported-media-type', 'The Content-Type must be application/json.');
    const text = bodyText(event, largest);
    if (text === undefined)
      return refuse('body-too-large', `The body is larger than ${formatBytes(largest)}.`);
    const value = parseJson(text);
    if (value === undefined) return refuse('invalid-json', 'The body is not valid JSON.');
    if (hasPrototypeField(value)) return refuse('invalid-body', 'A field cannot be called __proto__.');
    const parsed = schema.safeParse(value);
    if (!parsed.success) return refuse('invalid-body', `${firstIssue(parsed.error)}.`);
    return { ok: true, body: parsed.data };
  };
}
