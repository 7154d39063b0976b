import type { ExchangeRuleBody } from '../../../../lambda/subjects/ci/contract.ts';

/** Whether identity tokens are those of GitHub Actions. */
export const isGithub = (issuer: string) => new URL(issuer).host === 'token.actions.githubusercontent.com';

/** Who issues identity tokens. */
export const hostOf = (issuer: string) => (isGithub(issuer) ? 'GitHub Actions' : new URL(issuer).host);

/** Which jobs a rule is for, in words. */
export function jobsText({ issuer, match }: Pick<ExchangeRuleBody, 'issuer' | 'match'>): string {
  const claims = Object.entries(match).map(([claim, values]) => `${claim} ${values.join(' or ')}`);
  return `${hostOf(issuer)}: ${claims.join(', ')}`;
}
