import { noQuery } from '../../../api/contract/fields.ts';
import { json, noContent } from '../../../api/http.ts';
import { managerAccess } from '../../../api/management/access.ts';
import { problem } from '../../../api/problems.ts';
import { type ExchangeRule, exchangeRulesMax, wrongRule } from '../../../domain/exchange-rule.ts';
import { sha256Hex } from '../../../domain/hash.ts';
import { change, jsonBody, noBody, type Operations, openManagerAccess, operation } from '../operation.ts';
import { exchangeRuleBody } from './bodies.ts';
import { createRuleBody, ruleBytesMax, ttlSecondsDefault } from './requests.ts';

const listRules = operation(
  { access: managerAccess, query: noQuery, body: noBody },
  async (deps, { tenant: { tenant } }) => {
    const rules = await deps.exchangeRules.list(tenant);
    const issuers = deps.issuers.map(({ issuer }) => issuer);
    return json(200, { rules: rules.map((rule) => exchangeRuleBody(rule, deps.issuers)), issuers });
  },
);

const createRule = change(
  {
    action: 'rule.create',
    access: openManagerAccess,
    query: noQuery,
    body: jsonBody(createRuleBody, ruleBytesMax),
  },
  async (deps, { tenant: { tenant }, body, trail }) => {
    const { scope, repos = null, ttlSeconds = ttlSecondsDefault } = body;
    const issuer = deps.issuers.find((each) => each.issuer === body.issuer);
    if (!issuer) {
      const known = deps.issuers.map((each) => each.issuer).join(', ') || 'none';
      return problem('invalid-body', `issuer: must be one of this stage: ${known}.`);
    }
    const match = Object.fromEntries(
      Object.entries(body.match).map(([claim, values]) => [
        claim,
        typeof values === 'string' ? [values] : values,
      ]),
    );
    const wrong = wrongRule({ match, scope }, issuer);
    if (wrong) return problem('invalid-body', `match: ${wrong}.`);
    if ((await deps.exchangeRules.list(tenant)).length >= exchangeRulesMax)
      return problem('rules-full', `The tenant ${tenant} has ${exchangeRulesMax} rules. Delete one first.`);
    const rule: ExchangeRule = {
      id: sha256Hex(deps.ids.random(40)).slice(0, 16),
      tenant,
      issuer: issuer.issuer,
      match,
      scope,
      repos,
      lifetimeMs: ttlSeconds * 1000,
      createdAtMs: deps.clock.nowMs(),
    };
    await deps.exchangeRules.put(rule);
    const shown = exchangeRuleBody(rule, deps.issuers);
    trail.became(shown);
    return json(201, shown);
  },
);

/** Tokens that the rule gave name it, and are looked up with it. */
const deleteRule = change(
  { action: 'rule.delete', access: managerAccess, query: noQuery, body: noBody },
  async (deps, { tenant: { tenant }, event, trail }) => {
    const rules = await deps.exchangeRules.list(tenant);
    const rule = rules.find(({ id }) => id === event.pathParameters?.['ruleId']);
    if (rule) trail.was(exchangeRuleBody(rule, deps.issuers));
    const outcome = rule && (await deps.exchangeRules.delete(rule));
    return outcome === 'deleted'
      ? noContent()
      : problem('rule-not-found', `The tenant ${tenant} has no rule of that id.`);
  },
);

export const exchangeOperations = {
  'GET /v1/tenants/{tenant}/exchange-rules': listRules,
  'POST /v1/tenants/{tenant}/exchange-rules': createRule,
  'DELETE /v1/tenants/{tenant}/exchange-rules/{ruleId}': deleteRule,
} satisfies Operations;
