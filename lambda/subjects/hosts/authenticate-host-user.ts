import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { RepoPath, RepoRecord, TenantRecord } from '../../core/ledger/rules/tenant.ts';
import type { HostPorts } from './ports.ts';
import { isLinkedName } from './rules/git-hosts.ts';
import {
  GitHostUnavailableError,
  grantKeyOf,
  type HostGrant,
  type HostVerdict,
  mayBeHostToken,
} from './rules/host-client.ts';
import { findLink, isLinkInForce, pinRepository, type RepoLink } from './tenant-links.ts';

/** A refusal is remembered for so long: whoever is let in at the host waits no longer. */
const refusalKeptMs = 15_000;
/** A host that does not answer is asked again about the same token after this. */
const unavailableKeptMs = 5_000;

export type HostUserDeps = Pick<CoreDeps, 'ledger' | 'clock' | 'log' | 'settings'> & HostPorts;

type HostUserOutcome =
  | {
      readonly kind: 'granted';
      readonly grant: HostGrant;
      readonly tenant: TenantRecord;
      readonly repo: RepoRecord | undefined;
      readonly link: RepoLink;
    }
  /** For whatever reason. Who asks must not learn whether there is such a repo, or whether it is linked. */
  | { readonly kind: 'refused' }
  /** The host is to be asked later, or does not answer. */
  | { readonly kind: 'limited' | 'unavailable'; readonly host: string; readonly retryAfterMs: number };

/** Whether a password is to be looked at as a person's token for a host. Ours never are. */
export function isForHosts(
  { gitHosts }: Pick<HostPorts, 'gitHosts'>,
  credential: string | undefined,
): credential is string {
  return gitHosts.length > 0 && credential !== undefined && mayBeHostToken(credential);
}

/**
 * Checks a person's token for the host that a repo is linked to. For a repo that is not linked two items are read, whether
 * or not it or its tenant exists, and nobody is asked.
 *
 * @throws {LedgerUnavailableError}
 */
export async function authenticateHostUser(
  deps: HostUserDeps,
  { tenant, repo, credential }: RepoPath & { credential: string },
): Promise<HostUserOutcome> {
  const linked = await findLink(deps, { tenant, repo });
  if (!linked) return { kind: 'refused' };
  const key = grantKeyOf({ ...linked, tenant, credential });
  const known = deps.knownHostUsers.find(key, deps.clock.nowMs());
  const [tenantRecord, repoRecord, kept] = await Promise.all([
    deps.ledger.readTenant(tenant),
    deps.ledger.readRepo({ tenant, repo }),
    known ? undefined : deps.keptGrants.find(key),
  ]);
  if (tenantRecord?.closedAtMs !== null || !isLinkInForce(linked, repoRecord)) return { kind: 'refused' };
  const verdict =
    known ?? (await verdictOn(deps, { tenant, linked, record: repoRecord, credential, key, kept }));
  switch (verdict.kind) {
    case 'granted':
      return { kind: 'granted', grant: verdict.grant, tenant: tenantRecord, repo: repoRecord, link: linked };
    case 'refused':
      return { kind: 'refused' };
    case 'limited':
    case 'unavailable': {
      const retryAfterMs = Math.max(0, verdict.untilMs - deps.clock.nowMs());
      return { kind: verdict.kind, host: linked.host, retryAfterMs };
    }
  }
}

interface Question {
  readonly tenant: string;
  readonly linked: RepoLink;
  readonly record: RepoRecord | undefined;
  readonly credential: string;
  readonly key: string;
}

async function verdictOn(
  deps: HostUserDeps,
  question: Question & { kept: { grant: HostGrant; untilMs: number } | undefined },
): Promise<HostVerdict> {
  const { key, kept } = question;
  // An answer that came while the table was read.
  const known = deps.knownHostUsers.find(key, deps.clock.nowMs());
  if (known) return known;
  if (kept && deps.clock.nowMs() < kept.untilMs) {
    const verdict = { kind: 'granted', grant: kept.grant } as const;
    deps.knownHostUsers.keep(key, verdict, kept.untilMs);
    return verdict;
  }
  return deps.knownHostUsers.askOnce(key, () => askHost(deps, question));
}

async function askHost(deps: HostUserDeps, question: Question): Promise<HostVerdict> {
  const { tenant, linked, key } = question;
  const { knownHostUsers, clock, log } = deps;
  // The answer is no younger than the question.
  const askedMs = clock.nowMs();
  const verdict = await answerOf(deps, question, askedMs);
  const place = { tenant, repo: linked.repo, host: linked.host };
  switch (verdict.kind) {
    case 'granted': {
      const untilMs = askedMs + deps.settings.hostUserKeptMs;
      const { grant } = verdict;
      knownHostUsers.keep(key, verdict, untilMs);
      log.info('user authorized', { ...place, hostUser: grant.hostUser.id, access: grant.access });
      try {
        await deps.keptGrants.keep({ key, grant, untilMs });
      } catch (error) {
        // Other functions ask the host, then.
        log.warn('grant not kept', { ...place, error });
      }
      break;
    }
    case 'refused':
      knownHostUsers.keep(key, verdict, clock.nowMs() + refusalKeptMs);
      log.info('user rejected', { ...place, reason: verdict.reason });
      break;
    case 'limited':
    case 'unavailable':
      knownHostUsers.keep(key, verdict, verdict.untilMs);
  }
  return verdict;
}

async function answerOf(deps: HostUserDeps, question: Question, askedMs: number): Promise<HostVerdict> {
  const { tenant, linked, record, credential, key } = question;
  const { clock, log } = deps;
  const place = { tenant, repo: linked.repo, host: linked.host };
  const host = deps.gitHosts.find(({ id }) => id === linked.host);
  if (!host) return { kind: 'refused', reason: 'unknown git host' };
  if (!isLinkedName(linked.name, host.kind)) return { kind: 'refused', reason: 'no name for a repository' };
  try {
    const isKnown = deps.knownHostUsers.wasLetIn(key);
    const answer = await deps.hostClient.ask({ host, name: linked.name, token: credential, isKnown });
    switch (answer.kind) {
      case 'refused':
        return answer;
      case 'limited': {
        log.warn('git host limits requests', { ...place, retryAfterMs: answer.retryAfterMs });
        return { kind: 'limited', untilMs: clock.nowMs() + answer.retryAfterMs };
      }
      case 'granted': {
        const { linkedId } = answer;
        const path = { tenant, repo: linked.repo };
        const pinned = linked.ofTenant
          ? await pinRepository(deps, { ...path, link: linked.ofTenant, record, answer })
          : linked.linkedId === null
            ? await deps.linkedRepos.pin({ ...path, sinceMs: linked.sinceMs, linkedId })
            : linked;
        if (pinned?.sinceMs !== linked.sinceMs) return { kind: 'refused', reason: "the repo's link changed" };
        if (pinned.linkedId === linkedId) return { kind: 'granted', grant: answer.grant };
        return { kind: 'refused', reason: 'another repository has its name now' };
      }
    }
  } catch (error) {
    if (!(error instanceof GitHostUnavailableError)) throw error;
    log.warn('git host unavailable', { ...place, tookMs: clock.nowMs() - askedMs, error });
    return { kind: 'unavailable', untilMs: clock.nowMs() + unavailableKeptMs };
  }
}
