import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type * as z from 'zod';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { TenantRecord } from '../../core/ledger/rules/tenant.ts';
import { formatBytes } from '../../core/rules/sizes.ts';
import { hasPrototypeField, parseJson } from '../../core/rules/text.ts';
import { AuditTrail, type AuditVerdict, actorOf, audited } from '../access/audit.ts';
import type { AccessPorts } from '../access/ports.ts';
import type { AuditAction } from '../access/rules/audit.ts';
import { mustSignInAgain } from '../access/rules/tokens.ts';
import {
  type Answer,
  type BodyOf,
  bodyText,
  hasContentType,
  header,
  pathRepo,
  pathTenant,
  type QueryOf,
  type Refusal,
  type Response,
} from '../api/http.ts';
import { problem } from '../api/problems.ts';
import {
  bodyBytesMaxDefault,
  type Contract,
  needsHostCheck,
  type RouteContract,
} from '../contract/contract.ts';
import { noQuery } from '../contract/fields.ts';
import { firstIssue } from '../contract/json.ts';
import type { Problem } from '../contract/problems.ts';
import {
  type Access,
  adminAccess,
  adminTenantAccess,
  anyAccess,
  auditAccess,
  collectorAccess,
  holderAccess,
  managerAccess,
  type Reader,
  readerAccess,
  refuseBeyondPrefix,
  sessionAccess,
  writerAccess,
} from './access.ts';

/** What each route needs to check who asks, to decode, and to note what was changed. */
export type RouteDeps = Pick<CoreDeps, 'ledger' | 'clock' | 'log' | 'settings'> &
  Pick<AccessPorts, 'admin' | 'tokens' | 'audit'>;

/** One route of the management API: checks access, decodes, runs what its subject has for it, answers. */
export type Operation<D> = (deps: D, event: APIGatewayProxyEventV2) => Promise<Response>;

/** How each kind of access is checked. */
const checks = {
  manager: managerAccess,
  auditor: auditAccess,
  reader: readerAccess,
  asker: readerAccess,
  writer: writerAccess,
  collector: collectorAccess,
  holder: holderAccess,
  anybody: anyAccess,
  session: sessionAccess,
} as const;

/** That of the operator: for a tenant, if the path names one. */
type CheckOf<K, A> = A extends 'admin'
  ? K extends `${string}{tenant}${string}`
    ? typeof adminTenantAccess
    : typeof adminAccess
  : A extends keyof typeof checks
    ? (typeof checks)[A]
    : never;

type Granted<A> = A extends (...given: never) => Promise<infer G>
  ? Omit<Extract<G, { ok: true }>, 'ok'>
  : never;
/** Who asks, and for what, as the contract says. */
type Input<K, C extends RouteContract> = Granted<CheckOf<K, C['access']>> & {
  readonly query: QueryOf<C>;
  readonly body: BodyOf<C>;
  readonly event: APIGatewayProxyEventV2;
} & (C extends { takesRequestKey: true } ? { readonly requestKey: string | undefined } : unknown);

type Read<D, K, C extends RouteContract> = (deps: D, input: Input<K, C>) => Promise<Answer<C>>;
type Change<D, K, C extends RouteContract> = (
  deps: D,
  input: Input<K, C> & { readonly trail: AuditTrail },
) => Promise<Answer<C>>;
/** Finds out whether anything is to be changed. @returns the answer if nothing is, or what changes it. */
type Prepare<D, K, C extends RouteContract> = (
  deps: D,
  input: Input<K, C>,
) => Promise<Answer<C> | ((trail: AuditTrail) => Promise<Answer<C>>)>;

/**
 * What a subject has for a route. What changes something is audited once access, query and body are as they must be:
 * nobody fills the audit of a tenant who may not change anything of it. Where somebody who may only read can ask for a
 * change, they could fill it with what changes nothing, so only the second part is audited.
 */
type Run<D, K, C extends RouteContract> = C extends { action: AuditAction }
  ? C['access'] extends 'reader'
    ? Prepare<D, K, C>
    :
        | Change<D, K, C>
        | {
            readonly run: Change<D, K, C>;
            /** What is written down of the body. Default: all of it. */
            readonly askedOf: (body: BodyOf<C>) => object;
          }
  : Read<D, K, C>;

/** The routes of a contract whose access is checked here. Of others, who may call them is checked by what they're for. */
type Checked<C> = {
  readonly [K in keyof C]: C[K] extends { access: 'admin' | keyof typeof checks } ? K : never;
}[keyof C] &
  string;

type Runs<D, C extends Contract> = {
  readonly [K in Checked<C>]: C[K] extends RouteContract ? Run<D, K, C[K]> : never;
};

/** What a subject has for the routes of its contract. */
export type RunsOf<Needs, C extends Contract> = Runs<RouteDeps & Needs, C>;

/**
 * The routes of a subject, which need this beside what each route does. The compiler lets none be missing that its contract has,
 * and none take or answer what it doesn't say.
 *
 * @param refusal asked once access is granted: why this stage answers none of them.
 */
export const operationsFor =
  <Needs>() =>
  <C extends Contract>(
    contract: C,
    runs: Runs<RouteDeps & Needs, C>,
    refusal?: (deps: RouteDeps & Needs) => Refusal | undefined,
  ): Readonly<Record<Checked<C>, Operation<RouteDeps & Needs>>> => {
    const made = (Object.keys(runs) as Checked<C>[]).map((route) => {
      const said = contract[route] as RouteContract | undefined;
      if (!said) throw new Error(`${route} has no contract.`);
      const run = runs[route] as unknown as AnyRun;
      return [route, operation({ route, contract: said, run, refusal: refusal as AnyRefusal })];
    });
    return Object.fromEntries(made);
  };

type AnyRefusal = ((deps: RouteDeps) => Refusal | undefined) | undefined;
/** A {@link Run} whose contract is no part of its type any more. */
type AnyRun = Perform | { readonly run: Perform; readonly askedOf: (body: object | undefined) => object };
type Perform = (
  deps: RouteDeps,
  input: { event: APIGatewayProxyEventV2; requestKey?: string | undefined; trail?: AuditTrail },
) => ReturnType<Prepare<RouteDeps, string, RouteContract>>;

/**
 * Checks access first, so that nobody learns more from an error than what their credentials let them see. Then
 * decodes query and body, and runs.
 */
function operation(given: {
  route: string;
  contract: RouteContract;
  run: AnyRun;
  refusal: AnyRefusal;
}): Operation<RouteDeps> {
  const { contract } = given;
  const ofTenant = given.route.includes('{tenant}');
  const check = checkOf(contract, ofTenant, given.refusal);
  const { run, askedOf } = typeof given.run === 'function' ? { run: given.run } : given.run;
  const perform: Perform = contract.takesRequestKey ? withRequestKey(run) : run;
  return async (deps, event) => {
    const access = await check(deps, event);
    if (!access.ok) return access.response;
    const { token } = access as Partial<Reader>;
    const beyond = contract.keepsToPrefix ? undefined : refuseBeyondPrefix({ token }, 'others');
    if (beyond) return beyond;
    if (needsHostCheck(contract) && mustSignInAgain(access as Partial<Reader>, deps.clock.nowMs()))
      return problem('sign-in-again', signInAgain);
    const query = (contract.query ?? noQuery).safeParse(event.queryStringParameters ?? {});
    if (!query.success) return problem('invalid-query', `${firstIssue(query.error)}.`);
    // One that is sent although none is taken is not read.
    const decoded: Decoded<object | undefined> = contract.body
      ? jsonBody(deps, event, contract.body)
      : { ok: true, body: undefined };
    if (!decoded.ok) return decoded.response;
    const { body } = decoded;
    const input = { ...access, query: query.data, body, event };
    if (!contract.action) return (await perform(deps, input)) as Response;
    const change =
      contract.access === 'reader'
        ? await perform(deps, input)
        : (trail: AuditTrail) => perform(deps, { ...input, trail }) as Promise<Response>;
    if (typeof change !== 'function') return change;
    // It only tells what would be done.
    if ('dryRun' in query.data && query.data.dryRun === true) return change(new AuditTrail());
    return audited(deps, {
      action: {
        tenant: (ofTenant ? pathTenant(event) : (body as { tenant?: string } | undefined)?.tenant) ?? '',
        requestId: event.requestContext.requestId,
        // The operator has no token.
        by: actorOf(token),
        action: contract.action,
        target: targetOf(event),
        asked: { ...query.data, ...(askedOf?.(body) ?? body) },
      },
      run: change,
      verdictOf,
    });
  };
}

const signInAgain =
  'Your last sign-in with your Git host is more than 60 minutes ago. Sign in again, then repeat this.';

/** Access as the contract says it, and what besides is needed of the tenant and the stage. */
function checkOf({ access, onlyOpen }: RouteContract, ofTenant: boolean, refusal: AnyRefusal) {
  const ofAdmin = ofTenant ? adminTenantAccess : adminAccess;
  const check = access === 'admin' ? ofAdmin : checks[access as keyof typeof checks];
  return async (
    deps: RouteDeps,
    event: APIGatewayProxyEventV2,
  ): Promise<Access<{ tenant?: TenantRecord | undefined }>> => {
    const granted: Access<{ tenant?: TenantRecord | undefined }> = await check(deps, event);
    if (!granted.ok) return granted;
    const { tenant } = granted;
    const response =
      onlyOpen && tenant && tenant.closedAtMs !== null
        ? problem('tenant-closed', `The tenant ${tenant.tenant} is being deleted.`)
        : refusal?.(deps);
    return response ? { ok: false, response } : granted;
  };
}

/**
 * The `Idempotency-Key` header (draft-ietf-httpapi-idempotency-key-header): a request that is repeated with the same
 * key within 24 hours gets the answer of the first one. The draft has the key in quotes; it is taken without them too.
 */
function withRequestKey(run: Perform): Perform {
  return async (deps, input) => {
    const key = readRequestKey(input.event);
    return key.ok ? run(deps, { ...input, requestKey: key.requestKey }) : key.response;
  };
}

/** The key of a request. undefined: it has none. */
export function readRequestKey(
  event: APIGatewayProxyEventV2,
):
  | { readonly ok: true; readonly requestKey: string | undefined }
  | { readonly ok: false; readonly response: Refusal } {
  const requestKey = header(event, 'idempotency-key')?.replace(/^"(.*)"$/, '$1');
  if (requestKey === undefined || /^[\x21-\x7e]{1,255}$/.test(requestKey)) return { ok: true, requestKey };
  const detail = 'The Idempotency-Key must have 1 to 255 visible ASCII characters, such as a UUID.';
  return { ok: false, response: problem('invalid-idempotency-key', detail) };
}

/** The answer when another request has used the key. */
export function requestKeyReused(): Refusal {
  return problem(
    'idempotency-key-reused',
    'This Idempotency-Key was used with another body. Use a new key for a new request.',
  );
}

/** Ids have their form, or somebody wrote something else into the path: it is left out. */
const isId = (text: string) => /^[0-9a-f]{16}([0-9a-f]{8}|[0-9a-f]{48})?$/.test(text);

/** An id of the path. undefined: it hasn't the form of one, so nothing has it. */
export function pathId({ pathParameters }: APIGatewayProxyEventV2, name: string): string | undefined {
  const id = pathParameters?.[name];
  return id !== undefined && isId(id) ? id : undefined;
}

/** What the path names besides the tenant. */
function targetOf(event: APIGatewayProxyEventV2): Record<string, string> {
  const { tenant: _tenant, repo: _repo, ...ids } = event.pathParameters ?? {};
  const repo = pathRepo(event);
  const known = Object.keys(ids).flatMap((name) =>
    pathId(event, name) === undefined ? [] : [[name, ids[name]]],
  );
  return { ...(repo !== undefined && { repo }), ...Object.fromEntries(known) };
}

/** What came of an operation, by its answer. */
function verdictOf({ statusCode = 200, body = '' }: Response): AuditVerdict {
  if (statusCode < 400) return { outcome: 'succeeded' };
  const { code } = parseJson(body) as Partial<Problem>;
  return { outcome: 'denied', reason: code };
}

type Decoded<B> =
  | { readonly ok: true; readonly body: B }
  | { readonly ok: false; readonly response: Refusal };

/** Reads a JSON body as its contract says. */
export function jsonBody<T>(
  { settings }: Pick<CoreDeps, 'settings'>,
  event: APIGatewayProxyEventV2,
  body: Pick<Required<RouteContract>['body'], 'bytesMax' | 'tooMany'> & { schema: z.ZodType<T> },
): Decoded<T> {
  const { schema, bytesMax = bodyBytesMaxDefault, tooMany } = body;
  const largest = Math.min(settings.bodyBytesMax, bytesMax);
  const refuse = (...why: Parameters<typeof problem>) => ({ ok: false, response: problem(...why) }) as const;
  if (!hasContentType(event, 'application/json'))
    return refuse('unsupported-media-type', 'The Content-Type must be application/json.');
  const text = bodyText(event, largest);
  if (text === undefined) return refuse('body-too-large', `The body is larger than ${formatBytes(largest)}.`);
  const value = parseJson(text);
  if (value === undefined) return refuse('invalid-json', "The body isn't valid JSON.");
  const many = tooMany?.(value);
  if (many !== undefined) return refuse('too-many-files', many);
  const parsed = schema.safeParse(value);
  if (!parsed.success) return refuse('invalid-body', `${firstIssue(parsed.error)}.`);
  // After the schema, which bounds how much there is to look at.
  if (hasPrototypeField(value)) return refuse('invalid-body', "A field can't be called __proto__.");
  return { ok: true, body: parsed.data };
}
