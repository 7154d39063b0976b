import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { FunctionPorts } from '../../core/rules/clock-and-log.ts';
import type { AccessPorts } from '../../frame/access/ports.ts';
import type { GivenToken } from '../../frame/access/tokens.ts';
import { baseUrl, json, pathTenant } from '../../frame/api/http.ts';
import { problem, respondProblem } from '../../frame/api/problems.ts';
import { guard, type HttpHandler } from '../../frame/aws/function.ts';
import { jsonBody } from '../../frame/management/operations.ts';
import { exchangeContract } from './contract.ts';
import { exchangeToken } from './exchange-token.ts';
import type { CiPorts } from './ports.ts';
import { exchangedTokenBody } from './routes.ts';
import { IssuerUnavailableError } from './rules/identities.ts';

type ExchangeDeps = Pick<CoreDeps, 'ledger' | 'ids' | 'clock' | 'log' | 'settings'> &
  Pick<CiPorts, 'identities' | 'exchangeRules'> &
  Pick<AccessPorts, 'tokens' | 'requestKeys' | 'audit'> &
  FunctionPorts & { readonly publicUrl?: string | undefined };

const contract = exchangeContract['POST /v1/tenants/{tenant}/exchange'];
const tryAgainSeconds = '10';

/** POST /v1/tenants/{tenant}/exchange: a short-lived token for a CI job. Anybody may ask. */
export function create(deps: ExchangeDeps): HttpHandler {
  return guard(deps, respondProblem, async (event) => {
    const decoded = jsonBody(deps, event, contract.body);
    if (!decoded.ok) return decoded.response;
    const tenant = pathTenant(event);
    const base = baseUrl(event, deps.publicUrl);
    // A name that no tenant can have is not said again: it may be anything.
    const audience = `${base}/${tenant ?? 'TENANT'}`;
    let outcome: GivenToken = { kind: 'rejected', reason: "the tenant doesn't exist" };
    try {
      const { idToken } = decoded.body;
      const { requestId } = event.requestContext;
      if (tenant !== undefined) outcome = await exchangeToken(deps, { tenant, idToken, audience, requestId });
    } catch (error) {
      if (!(error instanceof IssuerUnavailableError)) throw error;
      deps.log.warn('issuer unavailable', { error });
      const detail = "The identity's issuer doesn't respond. Retry in a few seconds.";
      return problem('issuer-unavailable', detail, { 'retry-after': tryAgainSeconds });
    }
    if (outcome.kind === 'rejected') {
      // Of a stranger's request nothing but the tenant's name is logged, and that only if it is one.
      deps.log.info('identity rejected', { tenant: tenant ?? null, reason: outcome.reason });
      return problem(
        'unauthorized',
        `This identity gets no token. Its audience must be ${audience}, and a rule must match it.`,
      );
    }
    const { token, record } = outcome;
    deps.log.info('identity exchanged', {
      tenant: record.tenant,
      tokenId: record.tokenId,
      user: record.user,
    });
    return json(201, exchangedTokenBody(token, record));
  });
}
