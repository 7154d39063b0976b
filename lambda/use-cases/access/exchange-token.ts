import { bestRule } from '../../domain/exchange-rule.ts';
import type { TokenRecord } from '../../ports/credentials.ts';
import { audited } from '../audited.ts';
import type { Deps } from '../deps.ts';
import { createToken } from './create-token.ts';

const userCharactersMax = 100;

export type ExchangeOutcome =
  | { readonly kind: 'created'; readonly token: string; readonly record: TokenRecord }
  /** The reason is for the log alone: who asks learns nothing of the tenant. */
  | { readonly kind: 'rejected'; readonly reason: string };

/**
 * Gives whoever presents an identity token a short-lived token of a tenant, if one of its rules lets them in. Nothing
 * of the tenant is read before the identity token was verified.
 *
 * What is refused is not in the tenant's audit: anybody could fill it, and the time of a write would tell which tenants
 * there are.
 *
 * @param input.audience what the identity token must be meant for.
 * @throws {LedgerUnavailableError | IssuerUnavailableError}
 */
export async function exchangeToken(
  deps: Pick<Deps, 'identities' | 'exchangeRules' | 'ledger' | 'tokens' | 'audit' | 'ids' | 'clock' | 'log'>,
  input: { tenant: string; idToken: string; audience: string; requestId: string },
): Promise<ExchangeOutcome> {
  const { tenant, idToken, audience, requestId } = input;
  const identity = await deps.identities.verify({ idToken, audience });
  if (identity.kind === 'rejected') return identity;
  const [record, rules] = await Promise.all([
    deps.ledger.readTenant(tenant),
    deps.exchangeRules.list(tenant),
  ]);
  if (record?.closedAtMs !== null) return { kind: 'rejected', reason: 'there is no such tenant' };
  const rule = bestRule(rules, identity);
  if (!rule) return { kind: 'rejected', reason: 'no rule lets it in' };
  const { scope, repos, lifetimeMs } = rule;
  const grant = {
    tenant,
    scope,
    repos,
    lifetimeMs,
    user: nameOf(identity.claims['sub']),
    label: `rule ${rule.id}`,
  };
  const by = { kind: 'identity', tokenId: null, name: grant.user } as const;
  const { issuer } = identity;
  return audited(deps, {
    action: {
      tenant,
      requestId,
      by,
      action: 'identity.exchange',
      target: { ruleId: rule.id },
      asked: { issuer },
    },
    run: async (trail) => {
      const created = await createToken(deps, grant);
      const { tokenId, expiresAtMs } = created.record;
      trail.became({ tokenId, scope, repos, user: grant.user, expiresAtMs });
      return { kind: 'created', ...created };
    },
    verdictOf: () => ({ outcome: 'done' }),
  });
}

/** As the issuer names it, such as `repo:acme/game:ref:refs/heads/main`. */
const nameOf = (subject: unknown) =>
  typeof subject === 'string' && subject !== '' ? [...subject].slice(0, userCharactersMax).join('') : null;
