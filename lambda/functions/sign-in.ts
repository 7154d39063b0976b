import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { FunctionPorts } from '../core/rules/clock-and-log.ts';
import type { AccessPorts } from '../frame/access/ports.ts';
import { baseUrl, json, type Response } from '../frame/api/http.ts';
import { problem, respondProblem } from '../frame/api/problems.ts';
import { deployed } from '../frame/aws/deployed.ts';
import { guard, type HttpHandler, warmUpTable } from '../frame/aws/function.ts';
import { createSecretsClient, createTextSecret } from '../frame/aws/secrets.ts';
import { iso } from '../frame/contract/fields.ts';
import { jsonBody, readRequestKey } from '../frame/management/operations.ts';
import { tokenBody } from '../frame/management/tokens.ts';
import * as stores from '../lists/stores.ts';
import { openApiDocument } from '../openapi.ts';
import type { RouteKey } from '../routes.ts';
import { signInHostsOf } from '../subjects/hosts/rules/git-hosts.ts';
import { invitationContract } from '../subjects/invitations/contract.ts';
import { acceptInvitation, startDevice } from '../subjects/invitations/invitations.ts';
import type { InvitationPorts } from '../subjects/invitations/ports.ts';
import { finishHostSignIn, type HostSignInDeps, startHostSignIn } from '../subjects/sign-in/routes.ts';
import { createSignInHosts } from '../subjects/sign-in/sign-in-hosts.ts';
import { clock, common, gitHosts, publicUrl, table } from './parts.ts';

type SignInDeps = HostSignInDeps &
  InvitationPorts &
  Pick<AccessPorts, 'requestKeys' | 'audit'> &
  FunctionPorts;

type Operation = (deps: SignInDeps, event: APIGatewayProxyEventV2) => Promise<Response>;

/** A command line asks so often whether it's approved. */
const intervalSeconds = 5;

/** The description of the API, for programs. It is for everybody, so nothing is checked. */
async function describeApi({ publicUrl }: SignInDeps, event: APIGatewayProxyEventV2): Promise<Response> {
  const document = openApiDocument(baseUrl(event, publicUrl));
  return json(200, document, { 'cache-control': 'public, max-age=300' });
}

/** What anybody can ask, without a token: each costs a few reads and writes of single items. */
const operations: Readonly<Record<RouteKey<'signIn'>, Operation>> = {
  'GET /openapi.json': describeApi,
  'POST /v1/sign-in': startHostSignIn,
  'POST /v1/sign-in/finish': finishHostSignIn,

  /** The same words for each refusal. Of the request nothing is logged: it may hold somebody's secret. */
  'POST /v1/invitations/accept': async (deps, event) => {
    const decoded = jsonBody(deps, event, invitationContract['POST /v1/invitations/accept'].body);
    if (!decoded.ok) return decoded.response;
    const key = readRequestKey(event);
    if (!key.ok) return key.response;
    const { secret, user = null } = decoded.body;
    const { requestKey } = key;
    const { requestId } = event.requestContext;
    const outcome = await acceptInvitation(deps, { secret, user, requestKey, requestId });
    if (outcome.kind === 'rejected') {
      deps.log.info('invitation rejected', { reason: outcome.reason });
      const detail = 'The link is wrong, used, expired or revoked. Ask for a new invitation.';
      return problem('invitation-not-found', detail);
    }
    const { token, record } = outcome;
    deps.log.info('invitation accepted', { tenant: record.tenant, tokenId: record.tokenId });
    return json(201, { ...tokenBody(record), tenant: record.tenant, token });
  },

  'POST /v1/device': async (deps, event) => {
    const decoded = jsonBody(deps, event, invitationContract['POST /v1/device'].body);
    if (!decoded.ok) return decoded.response;
    const address = event.requestContext.http.sourceIp;
    const outcome = await startDevice(deps, { ...decoded.body, address });
    if (outcome.kind === 'full') {
      const detail = 'Too many logins are waiting. Retry in a minute, or paste a token.';
      return problem('devices-full', detail, { 'retry-after': '60' });
    }
    const { userCode, secret: token, expiresAtMs } = outcome;
    return json(201, { userCode, token, expiresAt: iso(expiresAtMs), intervalSeconds });
  },
};

const byRouteKey: ReadonlyMap<string, Operation> = new Map(Object.entries(operations));

/** What somebody without a token can do to get one. */
export function create(deps: SignInDeps): HttpHandler {
  return guard(deps, respondProblem, async (event) => {
    const operation = byRouteKey.get(event.routeKey);
    return operation ? operation(deps, event) : problem('not-found', 'Route not found.');
  });
}

export function signInDeps() {
  const tables = table();
  const client = createSecretsClient();
  const secrets = new Map(
    signInHostsOf(gitHosts()).map(({ id, signIn: { clientSecretArn: secretArn } }) => [
      id,
      createTextSecret({ client, secretArn, nowMs: clock.nowMs }),
    ]),
  );
  const secretOf = ({ id }: { id: string }) =>
    secrets.get(id)?.() ?? Promise.reject(new Error(`${id} has no secret.`));
  return {
    ...common(),
    publicUrl: publicUrl(),
    gitHosts: gitHosts(),
    signInHosts: createSignInHosts({ nowMs: clock.nowMs, secretOf }),
    users: stores.users(tables),
    tokens: stores.tokens(tables),
    // It knows no operator: nobody's session of theirs counts here.
    admin: { sha256s: async () => [] },
    ledger: stores.ledger(tables),
    linkedRepos: stores.linkedRepos(tables),
    tenantLinks: stores.tenantLinks(tables),
    invitations: stores.invitations(tables),
    devices: stores.devices(tables),
    requestKeys: stores.requestKeys(tables),
    audit: stores.audit(tables),
  };
}

export const handler = await deployed(create, signInDeps, warmUpTable);
