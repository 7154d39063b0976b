import * as z from 'zod';
import { listOf, recordOf } from '../json.ts';
import type { Contract } from './contract.ts';
import { time } from './fields.ts';
import { tokenRepos } from './tokens.ts';

/** An identity token of GitHub has about 2,000 characters. */
const idTokenCharactersMax = 16_000;

/** Somebody without any credentials sends it. */
const exchangeBodyBytesMax = 32_768;

const exchangeBody = z
  .strictObject({
    idToken: z
      .string()
      .min(1, 'must not be empty')
      .max(idTokenCharactersMax, `must have at most ${idTokenCharactersMax} characters`)
      .meta({ description: 'The identity token (JWT) of a CI job, for the audience `BASE-URL/TENANT`.' }),
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

export const createRuleBody = z
  .strictObject({
    issuer: z
      .string()
      .max(issuerCharactersMax)
      .meta({ description: 'Whose identity tokens: one of the issuers of the stage.' }),
    match: recordOf(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,99}$/, 'is no name of a claim'),
      z.union([claimValue, listOf(claimValue, { min: 1, max: valuesMax, rule: valueRule })], valueRule),
      { max: claimsMax, rule: `must not name more than ${claimsMax} claims` },
    ).meta({
      description:
        'Claim → the value that it must have, or several of which it must have one. All must match, exactly; a `ref` may ' +
        'end in `*`. GitHub: `repository_id` or `repository_owner_id` is needed. GitLab: `project_id` or ' +
        '`namespace_id`. To push, GitHub also needs `ref` (before a `*`: `refs/heads/` or `refs/tags/` and one more ' +
        'character) or `environment`. GitLab needs `ref_path`, or `ref` with `ref_type=branch` or `ref_protected=true`, or ' +
        '`environment` with `environment_protected=true` or `ref_protected=true`.',
    }),
    scope: z.enum(['read', 'write']),
    repos: tokenRepos
      .nullable()
      .optional()
      .meta({ description: 'The repos that its tokens are for. null: all of the tenant.' }),
    ttlSeconds: z
      .int(ttlRule)
      .min(ttlSecondsMin, ttlRule)
      .max(ttlSecondsMax, ttlRule)
      .optional()
      .meta({ default: ttlSecondsDefault, description: 'How long its tokens are valid.' }),
  })
  .meta({ id: 'CreateExchangeRule' });

const exchangeRuleSchema = z
  .object({
    ruleId: z.string(),
    issuer: z.string(),
    match: z.record(z.string(), z.array(z.string())),
    scope: z.enum(['read', 'write']),
    repos: z.array(z.string()).nullable().meta({ description: 'null: all.' }),
    ttlSeconds: z.int().min(1),
    createdAt: time,
    warning: z.string().nullable().meta({
      description:
        "Why a rule like this isn't accepted any more, though it still applies: replace it. null: nothing is wrong.",
    }),
  })
  .meta({ id: 'ExchangeRule' });

const exchangeRulesSchema = z
  .object({
    rules: z.array(exchangeRuleSchema),
    issuers: z.array(z.string()).meta({ description: 'Whose identity tokens this stage takes.' }),
  })
  .meta({ id: 'ExchangeRules' });

const exchangedTokenSchema = z
  .object({
    tenant: z.string(),
    token: z.string().meta({ description: 'The secret. It is answered this once and stored nowhere.' }),
    tokenId: z.string(),
    scope: z.enum(['read', 'write']),
    repos: z.array(z.string()).nullable().meta({ description: 'The repos that it is for. null: all.' }),
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
    summary: 'The rules by which CI jobs get tokens, the oldest first',
    access: 'manager',
    answers: {
      200: {
        description: 'All rules, and the issuers that the stage takes.',
        schema: exchangeRulesSchema,
        example: { rules: [rule], issuers: [issuer, 'https://gitlab.com'] },
      },
    },
  },
  'POST /v1/tenants/{tenant}/exchange-rules': {
    id: 'createExchangeRule',
    summary: 'Let CI jobs get tokens',
    description:
      'Without a rule no job gets one. A rule has to name the repository, or its owner, by number: names can be taken over. Up to 4 KiB.',
    access: 'manager',
    onlyOpen: true,
    action: 'rule.create',
    body: {
      schema: createRuleBody,
      bytesMax: ruleBytesMax,
      example: { issuer, match: asked, scope: 'write', repos: ['game'], ttlSeconds: 3600 },
    },
    answers: { 201: { description: 'The rule.', schema: exchangeRuleSchema, example: rule } },
    problems: ['rules-full'],
  },
  'DELETE /v1/tenants/{tenant}/exchange-rules/{ruleId}': {
    id: 'deleteExchangeRule',
    summary: 'Let these jobs get no more tokens',
    description: 'The tokens that it gave stop working at once.',
    access: 'manager',
    action: 'rule.delete',
    answers: { 204: { description: 'The rule is gone.' } },
    problems: ['rule-not-found'],
  },
  'POST /v1/tenants/{tenant}/exchange': {
    id: 'exchangeToken',
    summary: 'Get a token for a CI job',
    description:
      'Takes the identity token that GitHub Actions or GitLab makes for a job, for the audience `BASE-URL/TENANT`, instead ' +
      'of credentials. If a rule of the tenant lets it in, the answer is a token that expires soon. Otherwise it is the ' +
      'same 401, whatever the reason.',
    access: 'identity',
    body: { schema: exchangeBody, example: { idToken: 'eyJ…' }, bytesMax: exchangeBodyBytesMax },
    answers: {
      201: {
        description: 'The token with its secret, which is answered this once.',
        schema: exchangedTokenSchema,
        example: {
          tenant: 'acme',
          token: 'lfsq_…',
          tokenId: '0f1e2d3c4b5a6978',
          scope: 'write',
          repos: ['game'],
          expiresAt: '2026-11-21T06:00:00Z',
        },
      },
    },
  },
} as const satisfies Contract;
