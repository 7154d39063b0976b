import type { ExchangeRule } from '../../../domain/exchange-rule.ts';
import type { TokenRecord } from '../../../ports/credentials.ts';
import { iso } from '../fields.ts';
import type { ExchangedTokenBody, ExchangeRuleBody } from './schemas.ts';

export function exchangeRuleBody(rule: ExchangeRule): ExchangeRuleBody {
  const { id, issuer, match, scope, repos, lifetimeMs, createdAtMs } = rule;
  return {
    ruleId: id,
    issuer,
    match: Object.fromEntries(Object.entries(match).map(([claim, values]) => [claim, [...values]])),
    scope,
    repos: repos && [...repos],
    ttlSeconds: lifetimeMs / 1000,
    createdAt: iso(createdAtMs),
  };
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
