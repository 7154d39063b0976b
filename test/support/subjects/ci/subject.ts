import { expect } from 'vitest';
import { createRuleBody } from '../../../../lambda/subjects/ci/contract.ts';
import { exchangeRulesMax, issuersFromJson } from '../../../../lambda/subjects/ci/rules/identities.ts';
import { listOf, longestHost } from '../../longest.ts';
import { minute, repo, type TestedSubject, tenant } from '../../subject.ts';

const gitLab = {
  issuer: 'https://gitlab.example.com',
  jwksUri: 'https://gitlab.example.com/oauth/discovery/keys',
  kind: 'gitlab',
};

const rule = { issuer: 'https://issuer.example', match: { sub: 'x' }, scope: 'read' };

export const ci = {
  fill: {
    exchangeRules: ({ exchangeRules }, createdAtMs) =>
      exchangeRules.put({
        id: 'rule',
        tenant,
        issuer: 'https://issuer.example',
        match: { id: ['7'] },
        scope: 'write',
        repos: [repo],
        lifetimeMs: minute,
        createdAtMs,
      }),
  },
  limits: { 'A tenant': { 'CI rules': exchangeRulesMax } },
  functions: {
    exchangeToken: { timeoutSeconds: 15, memoryMb: 512, variables: ['TABLE'], writes: ['token-items'] },
  },
  repoIn: {
    rule: (repo) => createRuleBody.safeParse({ ...rule, repos: [repo] }).data?.repos?.[0],
  },
  settings: {
    most: {
      identityIssuers: listOf(20, (index) => ({
        issuer: `https://${longestHost}/${'i'.repeat(245)}${index}`,
        jwksUri: `https://${longestHost}/${'k'.repeat(245)}${index}`,
        kind: 'gitlab',
      })),
    },
    least: { identityIssuers: [] },
    ofGitLab: { identityIssuers: [gitLab] },
  },
  code: {
    identityIssuers: {
      // What a shell would take for its own.
      set: [{ ...gitLab, jwksUri: `${gitLab.jwksUri}?a="$(exit)\`exit\`'&b=%20` }],
      read: issuersFromJson,
      functions: ['management', 'exchangeToken'],
    },
  },
  older: {
    read: async ({ exchangeRules }) => expect(await exchangeRules.list('acme')).toHaveLength(1),
  },
  maps: {
    'lambda/subjects/ci/rules/identities.ts: match': 'claims: the contract wants a letter or digit first',
  },
} satisfies TestedSubject;
