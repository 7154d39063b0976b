import type { OperationDocs } from '../../operation-docs.ts';
import { createRuleBody, exchangeBody, exchangeBodyBytesMax } from './requests.ts';
import { exchangedTokenSchema, exchangeRuleSchema, exchangeRulesSchema } from './schemas.ts';

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
export const exchangeDocs = {
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
    problems: ['tenant-not-found'],
  },
  'POST /v1/tenants/{tenant}/exchange-rules': {
    id: 'createExchangeRule',
    summary: 'Let CI jobs get tokens',
    description:
      'Without a rule no job gets one. A rule has to name the repository, or its owner, by number: names can be taken over. Up to 4 KiB.',
    access: 'manager',
    action: 'rule.create',
    body: {
      schema: createRuleBody,
      example: { issuer, match: asked, scope: 'write', repos: ['game'], ttlSeconds: 3600 },
    },
    answers: { 201: { description: 'The rule.', schema: exchangeRuleSchema, example: rule } },
    problems: ['tenant-not-found', 'tenant-closed', 'rules-full'],
  },
  'DELETE /v1/tenants/{tenant}/exchange-rules/{ruleId}': {
    id: 'deleteExchangeRule',
    summary: 'Let these jobs get no more tokens',
    description: 'The tokens that it gave stop working at once.',
    access: 'manager',
    action: 'rule.delete',
    answers: { 204: { description: 'The rule is gone.' } },
    problems: ['tenant-not-found', 'rule-not-found'],
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
} satisfies OperationDocs;
