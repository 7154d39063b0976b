import * as z from 'zod';
import { answer, type Contract, managed } from '../../frame/contract/contract.ts';
import { names, namesOrNull, stringOrNull, time } from '../../frame/contract/fields.ts';
import { listOf, refuse } from '../../frame/contract/json.ts';
import { tokenRepos } from '../../frame/contract/tokens.ts';

/** An object with keys of the client's choice: checked like a list. */
function recordOf<K extends z.ZodString, T extends z.ZodType>(
  key: K,
  element: T,
  { max, rule }: { max: number; rule: string },
) {
  const firstWrong = (value: unknown, context: z.RefinementCtx) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const keys = Object.keys(value);
    if (keys.length > max) return refuse(context, rule, []);
    for (const name of keys) {
      const issue =
        key.safeParse(name).error?.issues[0] ?? element.safeParse(Reflect.get(value, name)).error?.issues[0];
      if (issue) return refuse(context, issue.message, [name, ...issue.path]);
    }
    return value;
  };
  return z.preprocess(firstWrong, z.record(key, element).meta({ maxProperties: max }));
}

/** An identity token of GitHub has about 2,000 characters. */
const idTokenCharactersMax = 16_000;

/** Somebody without any credentials sends it. */
const exchangeBodyBytesMax = 32_768;

const exchangeBody = z
  .strictObject({
    idToken: z
      .string()
      .min(1, "can't be empty")
      .max(idTokenCharactersMax, `must have at most ${idTokenCharactersMax} characters`)
      .describe('The identity token (JWT) of a CI job, for the audience `BASE-URL/TENANT`.'),
  })
  .meta({ id: 'ExchangeToken' });

/** Each exchange reads all rules of a tenant, and anybody with an account at an issuer can ask for one. */
const ruleBytesMax = 4096;

const issuerCharactersMax = 1000;
const claimsMax = 10;
const valuesMax = 20;
const valueCharactersMax = 255;
const valueRule = `must be a text of 1 to ${valueCharactersMax} characters, or 1 to ${valuesMax} of them`;
const claimValue = z.string(valueRule).min(1, valueRule).max(valueCharactersMax, valueRule);

const ttlSecondsMin = 300;
const ttlSecondsMax = 12 * 60 * 60;
const ttlRule = `must be a whole number of seconds from ${ttlSecondsMin} to ${ttlSecondsMax} (12 hours)`;
export const ttlSecondsDefault = 3600;

const ciScope = z.enum(['read', 'write', 'gc']);

export const createRuleBody = z
  .strictObject({
    issuer: z
      .string()
      .max(issuerCharactersMax)
      .describe('The issuer of the identity tokens: one that this server accepts.'),
    match: recordOf(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,99}$/, "isn't a claim name"),
      z.union([claimValue, listOf(claimValue, { min: 1, max: valuesMax, rule: valueRule })], valueRule),
      { max: claimsMax, rule: `can have up to ${claimsMax} claims` },
    ).describe(
      'Claim → its required value, or a list of accepted values. All claims must match exactly; `ref` can end in `*`. GitHub: `repository_id` or `repository_owner_id` is required. GitLab: `project_id` or `namespace_id`. To push, GitHub also requires `ref` (before a `*`: `refs/heads/` or `refs/tags/` and one more character) or `environment`. GitLab requires `ref_path`, or `ref` with `ref_type=branch` or `ref_protected=true`, or `environment` with `environment_protected=true` or `ref_protected=true`.',
    ),
    scope: ciScope,
    repos: tokenRepos.nullable().optional().describe('Repos of its tokens. null: all of the tenant.'),
    ttlSeconds: z
      .int(ttlRule)
      .min(ttlSecondsMin, ttlRule)
      .max(ttlSecondsMax, ttlRule)
      .optional()
      .meta({ default: ttlSecondsDefault, description: 'Lifetime of its tokens.' }),
  })
  .meta({ id: 'CreateExchangeRule' });

const exchangeRuleSchema = z
  .object({
    ruleId: z.string(),
    issuer: z.string(),
    match: z.record(z.string(), names),
    scope: ciScope,
    repos: namesOrNull.describe('null: all.'),
    ttlSeconds: z.int().min(1),
    createdAt: time,
    warning: stringOrNull.describe(
      "Why this rule should be replaced: it still applies, but you couldn't create it today. null: it's fine.",
    ),
  })
  .meta({ id: 'ExchangeRule' });

const exchangeRulesSchema = z
  .object({
    rules: z.array(exchangeRuleSchema),
    issuers: names.describe('Issuers that this server accepts.'),
  })
  .meta({ id: 'ExchangeRules' });

const exchangedTokenSchema = z
  .object({
    tenant: z.string(),
    token: z.string().describe("The secret, returned once. It isn't stored."),
    tokenId: z.string(),
    scope: ciScope,
    repos: namesOrNull.describe('Its repos. null: all.'),
    expiresAt: time,
  })
  .meta({ id: 'ExchangedToken' });

export type ExchangeRuleBody = z.output<typeof exchangeRuleSchema>;
export type ExchangedTokenBody = z.output<typeof exchangedTokenSchema>;

const issuer = 'https://token.actions.githubusercontent.com';
const asked = { repository_id: '123456789', ref: 'refs/heads/main' };
const rule = {
  ruleId: '5f0c1e2d3b4a5968',
  issuer,
  match: { repository_id: ['123456789'], ref: ['refs/heads/main'] },
  scope: 'write',
  repos: ['game'],
  ttlSeconds: 3600,
  createdAt: '2026-11-21T05:00:00Z',
  warning: null,
};

/** Short-lived tokens for CI jobs, by the identity that their host vouches for. */
export const exchangeContract = {
  'GET /v1/tenants/{tenant}/exchange-rules': {
    id: 'listExchangeRules',
    summary: 'The rules for CI jobs, the oldest first',
    access: 'manager',
    answers: {
      200: answer('All rules, and the accepted issuers.', exchangeRulesSchema, {
        rules: [rule],
        issuers: [issuer, 'https://gitlab.com'],
      }),
    },
  },
  'POST /v1/tenants/{tenant}/exchange-rules': {
    id: 'createExchangeRule',
    summary: 'Create a rule for CI jobs',
    description:
      'Jobs need a rule to get a token. A rule must contain the number of the repository or its owner, because names can be registered again. Up to 4 KiB.',
    ...managed('rule.create'),
    body: {
      schema: createRuleBody,
      bytesMax: ruleBytesMax,
      example: { issuer, match: asked, scope: 'write', repos: ['game'], ttlSeconds: 3600 },
    },
    answers: { 201: answer('The rule.', exchangeRuleSchema, rule) },
    problems: ['rules-full'],
  },
  'DELETE /v1/tenants/{tenant}/exchange-rules/{ruleId}': {
    id: 'deleteExchangeRule',
    summary: 'Delete a rule',
    description: 'Its tokens stop working immediately.',
    access: 'manager',
    action: 'rule.delete',
    answers: { 204: { description: 'The rule was deleted.' } },
    problems: ['rule-not-found'],
  },
  'POST /v1/tenants/{tenant}/exchange': {
    id: 'exchangeToken',
    summary: 'Get a token for a CI job',
    description:
      'Accepts the identity token of a GitHub Actions or GitLab job, for the audience `BASE-URL/TENANT`, instead of credentials. If a rule matches, you get a short-lived token. Otherwise the response is always the same 401.',
    access: 'identity',
    body: { schema: exchangeBody, example: { idToken: 'eyJ…' }, bytesMax: exchangeBodyBytesMax },
    answers: {
      201: answer('The token with its secret, returned once.', exchangedTokenSchema, {
        tenant: 'acme',
        token: 'lfsq_…',
        tokenId: '0f1e2d3c4b5a6978',
        scope: 'write',
        repos: ['game'],
        expiresAt: '2026-11-21T06:00:00Z',
      }),
    },
  },
} as const satisfies Contract;
