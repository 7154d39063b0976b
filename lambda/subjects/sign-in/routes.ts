import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { findSession } from '../../frame/access/tokens.ts';
import { baseUrl, json, type Response } from '../../frame/api/http.ts';
import { problem } from '../../frame/api/problems.ts';
import { cookieOf, isFromConsole, presentedBy, setCookie } from '../../frame/management/access.ts';
import { jsonBody } from '../../frame/management/operations.ts';
import { signInHostsOf } from '../hosts/rules/git-hosts.ts';
import { GitHostUnavailableError } from '../hosts/rules/host-client.ts';
import { type FinishedSignInBody, signInContract } from './contract.ts';
import { loginKeptMs, loginPattern } from './rules/sign-in.ts';
import { finishSignIn, type SignInDeps, type SignInOutcome, startSignIn } from './sign-in.ts';

type HostSignInDeps = SignInDeps & Pick<CoreDeps, 'settings'> & { readonly publicUrl?: string | undefined };

/**
 * Where a host sends the browser back to. It knows it. Each has its own: what another host has sent doesn't reach it.
 * @see https://www.rfc-editor.org/rfc/rfc9700#section-4.4.2.2
 */
const redirectUriOf = (event: APIGatewayProxyEventV2, host: string, publicUrl?: string) =>
  `${baseUrl(event, publicUrl)}/sign-in/${host}`;

async function startHostSignIn(deps: HostSignInDeps, event: APIGatewayProxyEventV2): Promise<Response> {
  const decoded = jsonBody(deps, event, signInContract['POST /v1/sign-in'].body);
  if (!decoded.ok) return decoded.response;
  if (!isFromConsole(event)) return rejected(deps, event, "the request isn't from the console");
  const { host, next, addsOrganization = false } = decoded.body;
  const redirectUri = redirectUriOf(event, host, deps.publicUrl);
  const started = await startSignIn(deps, { host, next, addsOrganization, redirectUri });
  if (!started) {
    const known = signInHostsOf(deps.gitHosts).map(({ id }) => id);
    return problem('invalid-body', `host: must be one of: ${known.join(', ') || 'none'}.`);
  }
  const { cookie: value, url } = started;
  return {
    ...json(200, { url }),
    cookies: [setCookie(event, { use: '-login', value, maxAgeMs: loginKeptMs })],
  };
}

async function finishHostSignIn(deps: HostSignInDeps, event: APIGatewayProxyEventV2): Promise<Response> {
  const decoded = jsonBody(deps, event, signInContract['POST /v1/sign-in/finish'].body);
  if (!decoded.ok) return decoded.response;
  const cookie = isFromConsole(event) ? cookieOf(event, '-login') : undefined;
  if (cookie === undefined || !loginPattern.test(cookie))
    return rejected(deps, event, 'the cookie of a sign-in is missing');
  const { host, code, state, iss: issuer } = decoded.body;
  const presented = presentedBy(event);
  const held = presented?.kind === 'session' ? await findSession(deps, presented.secret) : undefined;
  try {
    const redirectUri = redirectUriOf(event, host, deps.publicUrl);
    const outcome = await finishSignIn(deps, {
      cookie,
      hostId: host,
      code,
      state,
      issuer,
      redirectUri,
      held,
    });
    return outcome.kind === 'rejected'
      ? rejected(deps, event, outcome.reason, outcome.detail)
      : answerOf(deps, event, outcome);
  } catch (error) {
    if (!(error instanceof GitHostUnavailableError)) throw error;
    deps.log.warn('git host unavailable', { error });
    return problem('git-host-unavailable', "The Git host doesn't respond. Sign in again in a minute.");
  }
}

/** What anybody may ask. */
export const hostSignInOperations = {
  /** The console sends somebody to a git host. */
  'POST /v1/sign-in': startHostSignIn,
  /** Somebody comes back from there. */
  'POST /v1/sign-in/finish': finishHostSignIn,
};

function answerOf(
  { log }: Pick<CoreDeps, 'log'>,
  event: APIGatewayProxyEventV2,
  outcome: Exclude<SignInOutcome, { kind: 'rejected' }>,
): Response {
  const { next } = outcome;
  const cookies = [setCookie(event, { use: '-login', value: '', maxAgeMs: 0 })];
  const tenants = outcome.kind === 'added' ? [] : [...outcome.tenants];
  const tenant = (outcome.kind === 'choose' ? undefined : outcome.token?.tenant) ?? null;
  if (outcome.kind === 'signed-in') {
    const { value, session, token } = outcome;
    cookies.push(setCookie(event, { value, maxAgeMs: session.expiresAtMs - session.createdAtMs }));
    log.info('user signed in', { tenant: token.tenant, hostUser: token.hostUser?.id, ...token.allowedBy });
  }
  const body: FinishedSignInBody = { tenant, tenants, next };
  return { ...json(200, body), cookies };
}

/** The same words whatever the reason is: strangers learn nothing of tenants. */
function rejected(
  { log }: Pick<CoreDeps, 'log'>,
  event: APIGatewayProxyEventV2,
  reason: string,
  detail = 'Start again from the console. If it fails again, ask your admin whether your organization is allowed.',
): Response {
  log.info('sign-in rejected', { reason });
  const cookies = [setCookie(event, { use: '-login', value: '', maxAgeMs: 0 })];
  return { ...problem('sign-in-rejected', detail), cookies };
}
