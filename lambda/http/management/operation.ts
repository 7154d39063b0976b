import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type * as z from 'zod';
import type { Problem } from '../../api/contract/problems.ts';
import type { Response } from '../../api/http.ts';
import { bodyText, hasContentType, pathRepo, pathTenant } from '../../api/http.ts';
import { firstIssue } from '../../api/json.ts';
import {
  type Access,
  adminTenantAccess,
  managerAccess,
  type Reader,
  readerAccess,
} from '../../api/management/access.ts';
import { problem, tenantClosed } from '../../api/problems.ts';
import type { AuditAction } from '../../domain/audit.ts';
import { formatBytes } from '../../domain/bytes.ts';
import { hasPrototypeField, parseJson } from '../../domain/json.ts';
import type { TenantRecord } from '../../domain/tenant.ts';
import type { TokenRecord } from '../../domain/token.ts';
import type { RouteKey } from '../../routes.ts';
import { AuditTrail, type AuditVerdict, actorOf, audited } from '../../use-cases/audited.ts';
import type { Deps } from '../../use-cases/deps.ts';

export type ManagementDeps = Pick<
  Deps,
  | 'ledger'
  | 'tokens'
  | 'requestKeys'
  | 'locks'
  | 'admin'
  | 'issuers'
  | 'adoptedRepos'
  | 'exchangeRules'
  | 'audit'
  | 'downloads'
  | 'publicReads'
  | 'gitHosts'
  | 'mappedRepos'
  | 'history'
  | 'warnings'
  | 'webhooks'
  | 'webhookQueue'
  | 'webhookUrls'
  | 'store'
  | 'listing'
  | 'queue'
  | 'queueGauges'
  | 'storeProbe'
  | 'failures'
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

/** An operation that may change something: it says under which name that is audited. {@link change} makes it. */
export type AuditedOperation = Operation & { readonly action: AuditAction };

/**
 * All operations, by their routes. What is no GET can change something: the compiler lets none pass that is not audited.
 * A session changes nothing of a tenant.
 */
type AllOperations = {
  readonly [K in RouteKey<'management'>]: K extends `GET ${string}` | `${string} /v1/session`
    ? Operation
    : AuditedOperation;
};

/** The operations of one subject. */
export type Operations = Partial<AllOperations>;

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

/** What an operation that changes something needs beside that. */
interface ChangeNeeds<A extends object, Q, B> extends OperationNeeds<A, Q, B> {
  readonly action: AuditAction;
  /** The tenant that it is about. Default: that of the path. */
  readonly tenantOf?: (input: { body: B }) => string;
  /** Whether this request is only to tell what would be done. Then it is not audited. */
  readonly isTrial?: (input: { query: Q }) => boolean;
  /** What is written down of the body. Default: all of it. */
  readonly askedOf?: (input: { body: B }) => object;
}

/**
 * The same for an operation that may change something. It is audited once access, query and body are as they must be:
 * nobody fills the audit of a tenant who may not change anything of it.
 */
export function change<A extends object, Q extends object, B extends object | undefined>(
  needs: ChangeNeeds<A, Q, B>,
  run: (
    deps: ManagementDeps,
    input: A & { query: Q; body: B; event: APIGatewayProxyEventV2; trail: AuditTrail },
  ) => Promise<Response>,
): AuditedOperation {
  return changeByAnyone(needs, async (deps, input) => {
    if (needs.isTrial?.(input)) return run(deps, { ...input, trail: new AuditTrail() });
    return (trail) => run(deps, { ...input, trail });
  });
}

/**
 * The same where somebody who may only read can ask for a change. They could fill the audit with what changes nothing, so
 * only the second part is audited.
 *
 * @param prepare finds out whether anything is to be changed. @returns the answer if nothing is, or what changes it.
 */
export function changeByAnyone<A extends object, Q extends object, B extends object | undefined>(
  needs: ChangeNeeds<A, Q, B>,
  prepare: (
    deps: ManagementDeps,
    input: A & { query: Q; body: B; event: APIGatewayProxyEventV2 },
  ) => Promise<Response | ((trail: AuditTrail) => Promise<Response>)>,
): AuditedOperation {
  const { action, tenantOf, askedOf } = needs;
  const perform = operation<A, Q, B>(needs, async (deps, input) => {
    const { query, body, event } = input;
    const prepared = await prepare(deps, input);
    if (typeof prepared !== 'function') return prepared;
    return audited(deps, {
      action: {
        tenant: tenantOf?.(input) ?? pathTenant(event) ?? '',
        requestId: event.requestContext.requestId,
        by: actorOf(tokenOf(input)),
        action,
        target: targetOf(event),
        asked: Object.fromEntries(Object.entries({ ...query, ...(askedOf?.(input) ?? body) })),
      },
      run: prepared,
      verdictOf,
    });
  });
  return Object.assign(perform, { action });
}

/** The token of a reader. The operator has none. */
function tokenOf(access: object): TokenRecord | undefined {
  return (access as Partial<Reader>).token;
}

/** Ids have their form, or somebody wrote something else into the path: it is left out. */
const isId = (text: string) => /^[0-9a-f]{16}([0-9a-f]{8}|[0-9a-f]{48})?$/.test(text);

/** What the path names besides the tenant. */
function targetOf(event: APIGatewayProxyEventV2): Record<string, string> {
  const { tenant: _tenant, repo: _repo, ...ids } = event.pathParameters ?? {};
  const repo = pathRepo(event);
  const known = Object.entries(ids).flatMap(([name, id]) =>
    id !== undefined && isId(id) ? [[name, id]] : [],
  );
  return { ...(repo !== undefined && { repo }), ...Object.fromEntries(known) };
}

/** What came of an operation, by its answer. */
function verdictOf({ statusCode = 200, body = '' }: Response): AuditVerdict {
  if (statusCode < 400) return { outcome: 'done' };
  const { code } = parseJson(body) as Partial<Problem>;
  return { outcome: 'refused', reason: code };
}

/** For operations without a body. One that is sent all the same is not read. */
export const noBody: BodyReader<undefined> = () => ({ ok: true, body: undefined });

/** Most bodies have a few fields. The largest is a rule with 200 values. */
const bodyBytesMaxDefault = 65_536;

/** Reads a JSON body by a schema. */
export function jsonBody<T>(schema: z.ZodType<T>, bytesMax = bodyBytesMaxDefault): BodyReader<T> {
  return ({ settings }, event) => {
    const largest = Math.min(settings.bodyBytesMax, bytesMax);
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
    const parsed = schema.safeParse(value);
    if (!parsed.success) return refuse('invalid-body', `${firstIssue(parsed.error)}.`);
    // After the schema, which bounds how much there is to look at.
    if (hasPrototypeField(value)) return refuse('invalid-body', "A field can't be called __proto__.");
    return { ok: true, body: parsed.data };
  };
}

const ifOpen =
  <A extends { tenant: TenantRecord }>(
    access: (deps: ManagementDeps, event: APIGatewayProxyEventV2) => Promise<Access<A>>,
  ) =>
  async (deps: ManagementDeps, event: APIGatewayProxyEventV2): Promise<Access<A>> => {
    const granted = await access(deps, event);
    return granted.ok && granted.tenant.closedAtMs !== null
      ? { ok: false, response: tenantClosed(granted.tenant.tenant) }
      : granted;
  };

export const openTenantAccess = ifOpen(adminTenantAccess);
export const openReaderAccess = ifOpen(readerAccess);
export const openManagerAccess = ifOpen(managerAccess);
