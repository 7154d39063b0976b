import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { sha256Hex } from '../../core/rules/hash.ts';
import { plainText } from '../../core/rules/text.ts';
import { audited } from '../../frame/access/audit.ts';
import type { AccessPorts } from '../../frame/access/ports.ts';
import { scopeOf } from '../../frame/access/rules/tokens.ts';
import { claimToken, type GivenToken, givenToken, givenVerdict } from '../../frame/access/tokens.ts';
import type { CiPorts } from './ports.ts';
import { bestRule } from './rules/identities.ts';

/**
 * A refusal takes at least this long: the time to read a tenant's rules would tell that there is one. Anybody with an
 * account at an issuer can be refused, so it is short.
 */
const refusedAfterMs = 50;

const userCharactersMax = 100;

/**
 * Gives whoever presents an identity token a short-lived token of a tenant, if one of its rules lets them in. Nothing
 * of the tenant is read before the identity token was verified. One identity token gives one token, however often it's sent.
 *
 * What is refused is not in the tenant's audit: anybody could fill it, and the time of a write would tell which tenants
 * there are. Nor is an identity token that is sent once more.
 *
 * @param input.audience what the identity token must be meant for.
 * @throws {LedgerUnavailableError | IssuerUnavailableError}
 */
export async function exchangeToken(
  deps: Pick<CoreDeps, 'ledger' | 'ids' | 'clock' | 'log'> &
    Pick<CiPorts, 'identities' | 'exchangeRules'> &
    Pick<AccessPorts, 'tokens' | 'requestKeys' | 'audit'>,
  input: { tenant: string; idToken: string; audience: string; requestId: string },
): Promise<GivenToken> {
  const { tenant, idToken, audience, requestId } = input;
  const identity = await deps.identities.verify({ idToken, audience });
  if (identity.kind === 'rejected') return identity;
  const beganMs = deps.clock.nowMs();
  const [record, rules] = await Promise.all([
    deps.ledger.readTenant(tenant),
    deps.exchangeRules.list(tenant),
  ]);
  const rule = record?.closedAtMs === null ? bestRule(rules, identity) : undefined;
  if (!rule) {
    await deps.clock.sleep(Math.max(0, beganMs + refusedAfterMs - deps.clock.nowMs()));
    const isThere = record?.closedAtMs === null;
    return { kind: 'rejected', reason: isThere ? 'no rule lets it in' : "the tenant doesn't exist" };
  }
  const { scope, mayGc, repos, lifetimeMs } = rule;
  const grant = {
    tenant,
    scope,
    ...(mayGc && { mayGc }),
    repos,
    lifetimeMs,
    user: nameOf(identity.claims['sub']),
    label: `rule ${rule.id}`,
    ruleId: rule.id,
  };
  const claim = await claimToken(deps, { grant, credential: idToken, requestKey: sha256Hex(idToken) });
  // What is sent once more changes nothing, and whoever has an identity could fill the audit with it.
  if (claim.kind !== 'claimed') return givenToken(deps, claim);
  return audited(deps, {
    action: {
      tenant,
      requestId,
      by: { kind: 'identity', tokenId: null, name: grant.user },
      action: 'identity.exchange',
      target: { ruleId: rule.id },
      asked: { issuer: identity.issuer },
    },
    run: async (trail) => {
      const created = await claim.create();
      const { tokenId, expiresAtMs } = created.record;
      trail.became({ tokenId, scope: scopeOf(rule), repos, user: grant.user, expiresAtMs });
      return givenToken(deps, created);
    },
    verdictOf: givenVerdict,
  });
}

/** As the issuer names it, such as `repo:acme/game:ref:refs/heads/main`. */
const nameOf = (subject: unknown) =>
  typeof subject === 'string' ? [...plainText(subject)].slice(0, userCharactersMax).join('') || null : null;
