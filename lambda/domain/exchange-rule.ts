import { type IdentityIssuer, pinningClaims } from './identity-issuer.ts';
import { compareKeys } from './key-order.ts';

/** Which identities of an issuer get a token of a tenant, and which token. Without a rule nobody gets one. */
export interface ExchangeRule {
  /** 16 hex digits. */
  readonly id: string;
  readonly tenant: string;
  readonly issuer: string;
  /** Claim → the values of which it must have one. All claims must match. A `ref` may end in `*`. */
  readonly match: Readonly<Record<string, readonly string[]>>;
  readonly scope: 'read' | 'write';
  /** null: all repos of the tenant. */
  readonly repos: readonly string[] | null;
  /** How long a token is valid that it gives. */
  readonly lifetimeMs: number;
  readonly createdAtMs: number;
}

/** The claims of an identity token whose signature, issuer, audience and end were checked. */
export type Claims = Readonly<Record<string, unknown>>;

/** A job has to push from somewhere: without one of these any branch, and so any pull request, could. */
const claimsForWriting = ['ref', 'environment'];

/**
 * What is wrong with a rule that an issuer's jobs are to be let in by.
 *
 * @returns for people, or undefined if nothing is.
 */
export function wrongRule(
  { match, scope }: Pick<ExchangeRule, 'match' | 'scope'>,
  { kind }: Pick<IdentityIssuer, 'kind'>,
): string | undefined {
  const demands = (claims: readonly string[]) => claims.some((claim) => Object.hasOwn(match, claim));
  if (!demands(pinningClaims[kind]))
    return `must demand ${pinningClaims[kind].join(' or ')}: names can be taken over by others, numbers cannot`;
  if (scope === 'write' && !demands(claimsForWriting))
    return 'must demand ref or environment for the scope write: otherwise the jobs of any branch could push';
  const star = Object.entries(match).find(([claim, values]) =>
    values.some((value) => value.slice(0, claim === 'ref' ? -1 : undefined).includes('*')),
  );
  if (star) return `demands ${star[0]} with a *: only the end of a ref may be one`;
  return undefined;
}

/** Whether a rule lets an identity in: each claim that it demands is there, with exactly one of its values. */
export function letsIn(
  { issuer, match }: ExchangeRule,
  identity: { issuer: string; claims: Claims },
): boolean {
  if (identity.issuer !== issuer) return false;
  const demands = Object.entries(match);
  return demands.length > 0 && demands.every(([claim, values]) => hasOneOf(identity.claims, claim, values));
}

function hasOneOf(claims: Claims, claim: string, values: readonly string[]): boolean {
  const found = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  if (!['string', 'number', 'boolean'].includes(typeof found)) return false;
  const text = String(found);
  return values.some((value) =>
    claim === 'ref' && value.endsWith('*') ? text.startsWith(value.slice(0, -1)) : text === value,
  );
}

/** The rule by which an identity gets the most: write before read, all repos before some, then the older. */
export function bestRule(
  rules: readonly ExchangeRule[],
  identity: { issuer: string; claims: Claims },
): ExchangeRule | undefined {
  const rank = (rule: ExchangeRule) => (rule.scope === 'write' ? 0 : 2) + (rule.repos === null ? 0 : 1);
  const [best] = rules
    .filter((rule) => letsIn(rule, identity))
    .sort((a, b) => rank(a) - rank(b) || a.createdAtMs - b.createdAtMs || compareKeys(a.id, b.id));
  return best;
}
