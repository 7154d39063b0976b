import * as z from 'zod';
import { compareKeys } from '../../../core/rules/names.ts';
import { type Frozen, nullable } from '../../../core/rules/stored.ts';
import { parseJson } from '../../../core/rules/text.ts';

export const issuerKinds = ['github', 'gitlab'] as const;

const issuerSchema = z.object({
  /** The claim `iss` of its tokens. */
  issuer: z.string(),
  /** Where its public keys are (JWKS). */
  jwksUri: z.string(),
  /** How it names repositories and who owns them. */
  kind: z.enum(issuerKinds),
});

/** Whose identity tokens a stage takes. The operator's setting, never a tenant's: its keys are fetched from there. */
export type IdentityIssuer = Frozen<z.output<typeof issuerSchema>>;

/**
 * Claims that name a repository, or its owner, by a number that nobody can take over; a name can be registered anew by
 * somebody else. A rule must demand one of them, or it would let in every job of the host.
 *
 * @see https://docs.github.com/en/actions/reference/security/oidc
 * @see https://docs.gitlab.com/ci/secrets/id_token_authentication/
 */
const pinningClaims: Readonly<Record<IdentityIssuer['kind'], readonly string[]>> = {
  github: ['repository_id', 'repository_owner_id'],
  gitlab: ['project_id', 'namespace_id'],
};

/** The hosts that everybody can use. Without a rule of a tenant their tokens are worth nothing. */
export const publicIssuers: readonly IdentityIssuer[] = [
  {
    issuer: 'https://token.actions.githubusercontent.com',
    jwksUri: 'https://token.actions.githubusercontent.com/.well-known/jwks',
    kind: 'github',
  },
  { issuer: 'https://gitlab.com', jwksUri: 'https://gitlab.com/oauth/discovery/keys', kind: 'gitlab' },
];

/**
 * The issuers of a stage from JSON. Without it: those that everybody can use.
 *
 * @throws {Error} while the container starts: a stage must not take other identities than its operator set.
 */
export function issuersFromJson(text: string | undefined): readonly IdentityIssuer[] {
  if (text === undefined) return publicIssuers;
  const issuers = z.array(issuerSchema).safeParse(parseJson(text));
  if (!issuers.success)
    throw new Error("The issuers aren't a list, or one lacks issuer, jwksUri or kind. Deploy again.");
  return issuers.data;
}

/** For {@link issuersFromJson}. undefined: they are those that everybody can use. */
export function issuersToJson(issuers: readonly IdentityIssuer[]): string | undefined {
  const text = JSON.stringify(issuers);
  return text === JSON.stringify(publicIssuers) ? undefined : text;
}

/** Which identities of an issuer get a token of a tenant, and which token. Without a rule nobody gets one. */
export const ruleSchema = z.object({
  /** 16 hex digits. */
  id: z.string(),
  tenant: z.string(),
  issuer: z.string(),
  /** Claim → the values of which it must have one. All claims must match. A `ref` may end in `*`. */
  match: z.record(z.string(), z.array(z.string())),
  scope: z.enum(['read', 'write']),
  /** Its tokens may collect garbage. */
  mayGc: z.literal(true).optional(),
  /** null: all repos of the tenant. */
  repos: nullable(z.array(z.string())),
  /** How long a token is valid that it gives. */
  lifetimeMs: z.number(),
  createdAtMs: z.number(),
});
export type ExchangeRule = Frozen<z.output<typeof ruleSchema>>;

/** Rules of a tenant. They are read all at once. */
export const exchangeRulesMax = 50;

/** The claims of an identity token whose signature, issuer, audience and end were checked. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * Why a rule that lets in an issuer's jobs isn't accepted. A stored one that an earlier version accepted still applies.
 *
 * @returns for a person to read, or undefined if nothing is wrong.
 */
export function wrongRule(
  { match, scope }: Pick<ExchangeRule, 'match' | 'scope'>,
  { kind }: Pick<IdentityIssuer, 'kind'>,
): string | undefined {
  const pins = pinningClaims[kind];
  if (!pins.some((claim) => Object.hasOwn(match, claim)))
    return `must require ${pins.join(' or ')}: others can register a name again, but not a number`;
  const star = Object.entries(match).find(([claim, values]) =>
    values.some((value) => value.slice(0, claim === 'ref' ? -1 : undefined).includes('*')),
  );
  if (star) return `requires ${star[0]} with a *: only the end of a ref can be one`;
  return scope === 'write' ? wrongForWriting[kind](match) : undefined;
}

type Match = ExchangeRule['match'];

/** A job has to push from somewhere: else any branch, and so any pull request, could. */
const wrongForWriting: Readonly<Record<IdentityIssuer['kind'], (match: Match) => string | undefined>> = {
  github: (match) => {
    if (!Object.hasOwn(match, 'ref') && !Object.hasOwn(match, 'environment'))
      return 'must require ref or environment for the scope write: otherwise the jobs of any branch could push';
    return refsBegin(match, /^refs\/(heads|tags)\/./)
      ? undefined
      : 'has a ref that any pull request could match: before its * it needs refs/heads/ or refs/tags/ and one more character';
  },
  // Its ref has no refs/heads/: a tag can be called main. And any branch can name an environment.
  gitlab: (match) => {
    const isOnly = (claim: string, only: string) =>
      Object.hasOwn(match, claim) && match[claim]?.every((value) => value === only) === true;
    const isProtected = isOnly('ref_protected', 'true');
    const isSure =
      Object.hasOwn(match, 'ref_path') ||
      (Object.hasOwn(match, 'ref') && (isProtected || isOnly('ref_type', 'branch'))) ||
      (Object.hasOwn(match, 'environment') && (isProtected || isOnly('environment_protected', 'true')));
    if (!isSure)
      return (
        'must require, for the scope write, ref_path; or ref with ref_type=branch or ref_protected=true; or environment ' +
        'with environment_protected=true or ref_protected=true: otherwise any branch or tag could push'
      );
    return refsBegin(match, /./)
      ? undefined
      : 'has a ref that any branch could match: before its * it needs one character';
  },
};

/** Whether the refs that end in `*` begin with a pattern. */
function refsBegin(match: Match, pattern: RegExp): boolean {
  const refs = Object.hasOwn(match, 'ref') ? (match['ref'] ?? []) : [];
  return refs.every((ref) => !ref.endsWith('*') || pattern.test(ref.slice(0, -1)));
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
  const rank = (rule: ExchangeRule) =>
    (rule.mayGc ? -2 : rule.scope === 'write' ? 0 : 2) + (rule.repos === null ? 0 : 1);
  const [best] = rules
    .filter((rule) => letsIn(rule, identity))
    .sort((a, b) => rank(a) - rank(b) || a.createdAtMs - b.createdAtMs || compareKeys(a.id, b.id));
  return best;
}

type VerifiedIdentity =
  | { readonly kind: 'verified'; readonly issuer: string; readonly claims: Claims }
  /** The reason is for the log. Who asks must not learn it. */
  | { readonly kind: 'rejected'; readonly reason: string };

/** Checks identity tokens (JWT of OpenID Connect) of the stage's issuers. */
export interface IdentityVerifier {
  /**
   * Checks signature, issuer, audience and end.
   *
   * @throws {IssuerUnavailableError} its keys are not known, and it does not answer.
   */
  verify(input: { idToken: string; audience: string }): Promise<VerifiedIdentity>;
}

/** The keys of an issuer cannot be had now. Nothing is known of the token. */
export class IssuerUnavailableError extends Error {
  override readonly name = 'IssuerUnavailableError';
}
