import { type Fill, minute, repo, tenant } from '../../fill.ts';

/** What the table keeps of this subject. */
export const ciFill = {
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
} satisfies Fill;
