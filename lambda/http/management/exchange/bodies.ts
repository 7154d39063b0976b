import { iso } from '../../../api/contract/fields.ts';
import { type ExchangeRule, wrongRule } from '../../../domain/exchange-rule.ts';
import type { IdentityIssuer } from '../../../domain/identity-issuer.ts';
import type { TokenRecord } from '../../../domain/token.ts';
import type { ExchangedTokenBody, ExchangeRuleBody } from './schemas.ts';

/** @param issuers those of the stage. */
export function exchangeRuleBody(rule: ExchangeRule, issuers: readonly IdentityIssuer[]): ExchangeRuleBody {
  const { id, issuer, match, scope, repos, lifetimeMs, createdAtMs } = rule;
  return {
    ruleId: id,
    issuer,
    match: Object.fromEntries(Object.entries(match).map(([claim, values]) => [claim, [...values]])),
    scope,
    repos: repos && [...repos],
    ttlSeconds: lifetimeMs / 1000,
    createdAt: iso(createdAtMs),
    warning: warningOf(rule, issuers),
  };
}

/** Why a rule like a stored one isn't accepted any more. Jobs rely on it, so it still applies. */
function warningOf(rule: ExchangeRule, issuers: readonly IdentityIssuer[]): string | null {
  const issuer = issuers.find((each) => each.issuer === rule.issuer);
  return (
    (issuer ? wrongRule(rule, issuer) : "lets in no job: its issuer isn't one of this deployment") ?? null
  );
}

export function exchangedTokenBody(token: string, record: TokenRecord): ExchangedTokenBody {
  const { tenant, tokenId, scope, repos, expiresAtMs } = record;
  return {
    tenant,
    token,
    tokenId,
    scope: scope === 'read' ? 'read' : 'write',
    repos: repos && [...repos],
    expiresAt: iso(expiresAtMs ?? record.createdAtMs),
  };
}
