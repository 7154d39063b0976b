import { expect } from 'vitest';
import { exchangeRulesMax } from '../../../../lambda/subjects/ci/rules/identities.ts';
import { minute, repo, type TestedSubject, tenant } from '../../subject.ts';

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
  older: {
    read: async ({ exchangeRules }) => expect(await exchangeRules.list('acme')).toHaveLength(1),
  },
} satisfies TestedSubject;
