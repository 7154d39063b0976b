import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { sha256Hex } from '../../core/rules/hash.ts';
import { rightsOf, scopeOf, type TokenRecord } from '../../frame/access/rules/tokens.ts';
import { json, noContent } from '../../frame/api/http.ts';
import { problem } from '../../frame/api/problems.ts';
import { iso } from '../../frame/contract/fields.ts';
import { operationsFor } from '../../frame/management/operations.ts';
import {
  type ExchangedTokenBody,
  type ExchangeRuleBody,
  exchangeContract,
  ttlSecondsDefault,
} from './contract.ts';
import type { CiPorts } from './ports.ts';
import { type ExchangeRule, exchangeRulesMax, type IdentityIssuer, wrongRule } from './rules/identities.ts';

type Needs = Pick<CoreDeps, 'ids'> & Pick<CiPorts, 'issuers' | 'exchangeRules'>;

export const exchangeOperations = operationsFor<Needs>()(exchangeContract, {
  'GET /v1/tenants/{tenant}/exchange-rules': async (deps, { tenant: { tenant } }) => {
    const rules = await deps.exchangeRules.list(tenant);
    const issuers = deps.issuers.map(({ issuer }) => issuer);
    return json(200, { rules: rules.map((rule) => exchangeRuleBody(rule, deps.issuers)), issuers });
  },

  'POST /v1/tenants/{tenant}/exchange-rules': async (deps, { tenant: { tenant }, body, trail }) => {
    const { repos = null, ttlSeconds = ttlSecondsDefault } = body;
    const issuer = deps.issuers.find((each) => each.issuer === body.issuer);
    if (!issuer) {
      const known = deps.issuers.map((each) => each.issuer).join(', ') || 'none';
      return problem('invalid-body', `issuer: must be one of: ${known}.`);
    }
    const match = Object.fromEntries(
      Object.entries(body.match).map(([claim, values]) => [
        claim,
        typeof values === 'string' ? [values] : values,
      ]),
    );
    const rights = rightsOf(body.scope);
    const wrong = wrongRule({ match, ...rights }, issuer);
    if (wrong) return problem('invalid-body', `match: ${wrong}.`);
    if ((await deps.exchangeRules.list(tenant)).length >= exchangeRulesMax)
      return problem('rules-full', `${tenant} has ${exchangeRulesMax} rules, the maximum. Delete one first.`);
    const rule: ExchangeRule = {
      id: sha256Hex(deps.ids.random(40)).slice(0, 16),
      tenant,
      issuer: issuer.issuer,
      match,
      ...rights,
      repos,
      lifetimeMs: ttlSeconds * 1000,
      createdAtMs: deps.clock.nowMs(),
    };
    await deps.exchangeRules.put(rule);
    const shown = exchangeRuleBody(rule, deps.issuers);
    trail.became(shown);
    return json(201, shown);
  },

  /** Tokens that the rule gave name it, and are looked up with it. */
  'DELETE /v1/tenants/{tenant}/exchange-rules/{ruleId}': async (
    deps,
    { tenant: { tenant }, event, trail },
  ) => {
    const rules = await deps.exchangeRules.list(tenant);
    const rule = rules.find(({ id }) => id === event.pathParameters?.['ruleId']);
    if (rule) trail.was(exchangeRuleBody(rule, deps.issuers));
    const outcome = rule && (await deps.exchangeRules.delete(rule));
    return outcome === 'deleted'
      ? noContent()
      : problem('rule-not-found', `${tenant} has no rule with that id.`);
  },
});

/** @param issuers those of the stage. */
function exchangeRuleBody(rule: ExchangeRule, issuers: readonly IdentityIssuer[]): ExchangeRuleBody {
  const { id, issuer, match, repos, lifetimeMs, createdAtMs } = rule;
  return {
    ruleId: id,
    issuer,
    match: Object.fromEntries(Object.entries(match).map(([claim, values]) => [claim, [...values]])),
    scope: scopeOf(rule),
    repos: repos && [...repos],
    ttlSeconds: lifetimeMs / 1000,
    createdAt: iso(createdAtMs),
    warning: warningOf(rule, issuers),
  };
}

/** Why a rule like a stored one isn't accepted any more. Jobs rely on it, so it still applies. */
function warningOf(rule: ExchangeRule, issuers: readonly IdentityIssuer[]): string | null {
  const issuer = issuers.find((each) => each.issuer === rule.issuer);
  return (issuer ? wrongRule(rule, issuer) : "matches no job: its issuer isn't configured") ?? null;
}

export function exchangedTokenBody(token: string, record: TokenRecord): ExchangedTokenBody {
  const { tenant, tokenId, repos, expiresAtMs } = record;
  const scope = scopeOf(record);
  return {
    tenant,
    token,
    tokenId,
    scope: scope === 'manage' ? 'write' : scope,
    repos: repos && [...repos],
    expiresAt: iso(expiresAtMs ?? record.createdAtMs),
  };
}
