import type { Deps } from '../deps.ts';
import type { RepoPath, RepoRecord, TenantRecord } from '../ledger/rules/tenant.ts';
import { isInForce, type MappedRepo, type PublicRead } from './rules/git-hosts.ts';
import {
  GitHostUnavailableError,
  grantKeyOf,
  mayBeHostToken,
  type PersonGrant,
  type PersonVerdict,
} from './rules/host-user.ts';

/** A refusal is remembered for so long: whoever is let in at the host waits no longer. */
const refusalKeptMs = 15_000;
/** A host that does not answer is asked again about the same token after this. */
const unavailableKeptMs = 5_000;

export type PersonDeps = Pick<
  Deps,
  | 'gitHosts'
  | 'hostClient'
  | 'mappedRepos'
  | 'keptGrants'
  | 'knownPeople'
  | 'ledger'
  | 'clock'
  | 'log'
  | 'settings'
>;

type PersonOutcome =
  | {
      readonly kind: 'granted';
      readonly grant: PersonGrant;
      readonly tenant: TenantRecord;
      readonly repo: RepoRecord | undefined;
    }
  /** For whatever reason. Who asks must not learn whether there is such a repo, or whether it is mapped. */
  | { readonly kind: 'refused' }
  /** The host is to be asked later, or does not answer. */
  | { readonly kind: 'limited' | 'unavailable'; readonly host: string; readonly retryAfterMs: number };

/** Whether a password is to be looked at as a person's token for a host. Ours never are. */
export function isForHosts(
  { gitHosts }: Pick<Deps, 'gitHosts'>,
  credential: string | undefined,
): credential is string {
  return gitHosts.length > 0 && credential !== undefined && mayBeHostToken(credential);
}

/**
 * Checks a person's token for the host that a repo is mapped to. For a repo that is not mapped one item is read, as for a
 * token that does not exist, and nobody is asked.
 *
 * @throws {LedgerUnavailableError}
 */
export async function authenticatePerson(
  deps: PersonDeps,
  { tenant, repo, credential }: RepoPath & { credential: string },
): Promise<PersonOutcome> {
  const mapped = await deps.mappedRepos.find({ tenant, repo });
  if (!mapped) return { kind: 'refused' };
  const key = grantKeyOf({ ...mapped, tenant, credential });
  const known = deps.knownPeople.find(key, deps.clock.nowMs());
  const [tenantRecord, repoRecord, kept] = await Promise.all([
    deps.ledger.readTenant(tenant),
    deps.ledger.readRepo({ tenant, repo }),
    known ? undefined : deps.keptGrants.find(key),
  ]);
  if (tenantRecord?.closedAtMs !== null || !isInForce(mapped, repoRecord)) return { kind: 'refused' };
  const verdict = known ?? (await verdictOn(deps, { tenant, mapped, credential, key, kept }));
  switch (verdict.kind) {
    case 'granted':
      return { kind: 'granted', grant: verdict.grant, tenant: tenantRecord, repo: repoRecord };
    case 'refused':
      return { kind: 'refused' };
    case 'limited':
    case 'unavailable': {
      const retryAfterMs = Math.max(0, verdict.untilMs - deps.clock.nowMs());
      return { kind: verdict.kind, host: mapped.host, retryAfterMs };
    }
  }
}

interface Question {
  readonly tenant: string;
  readonly mapped: MappedRepo;
  readonly credential: string;
  readonly key: string;
}

async function verdictOn(
  deps: PersonDeps,
  question: Question & { kept: { grant: PersonGrant; untilMs: number } | undefined },
): Promise<PersonVerdict> {
  const { key, kept } = question;
  // An answer that came while the table was read.
  const known = deps.knownPeople.find(key, deps.clock.nowMs());
  if (known) return known;
  if (kept && deps.clock.nowMs() < kept.untilMs) {
    const verdict = { kind: 'granted', grant: kept.grant } as const;
    deps.knownPeople.keep(key, verdict, kept.untilMs);
    return verdict;
  }
  return deps.knownPeople.askOnce(key, () => askHost(deps, question));
}

async function askHost(deps: PersonDeps, question: Question): Promise<PersonVerdict> {
  const { tenant, mapped, key } = question;
  const { knownPeople, clock, log } = deps;
  // The answer is no younger than the question.
  const askedMs = clock.nowMs();
  const verdict = await answerOf(deps, question, askedMs);
  const place = { tenant, repo: mapped.repo, host: mapped.host };
  switch (verdict.kind) {
    case 'granted': {
      const untilMs = askedMs + deps.settings.personKeptMs;
      const { grant } = verdict;
      knownPeople.keep(key, verdict, untilMs);
      log.info('user authorized', { ...place, person: grant.person.id, access: grant.access });
      try {
        await deps.keptGrants.keep({ key, grant, untilMs });
      } catch (error) {
        // Other functions ask the host, then.
        log.warn('grant not kept', { ...place, error });
      }
      break;
    }
    case 'refused':
      knownPeople.keep(key, verdict, clock.nowMs() + refusalKeptMs);
      log.info('user rejected', { ...place, reason: verdict.reason });
      break;
    case 'limited':
    case 'unavailable':
      knownPeople.keep(key, verdict, verdict.untilMs);
  }
  return verdict;
}

async function answerOf(deps: PersonDeps, question: Question, askedMs: number): Promise<PersonVerdict> {
  const { tenant, mapped, credential, key } = question;
  const { clock, log } = deps;
  const place = { tenant, repo: mapped.repo, host: mapped.host };
  const host = deps.gitHosts.find(({ id }) => id === mapped.host);
  if (!host) return { kind: 'refused', reason: 'unknown git host' };
  try {
    const isKnown = deps.knownPeople.wasLetIn(key);
    const answer = await deps.hostClient.ask({ host, name: mapped.name, token: credential, isKnown });
    switch (answer.kind) {
      case 'refused':
        return answer;
      case 'limited': {
        log.warn('git host limits requests', { ...place, retryAfterMs: answer.retryAfterMs });
        return { kind: 'limited', untilMs: clock.nowMs() + answer.retryAfterMs };
      }
      case 'granted': {
        const { hostedId } = answer;
        const path = { tenant, repo: mapped.repo };
        const pinned =
          mapped.hostedId === null
            ? await deps.mappedRepos.pin({ ...path, sinceMs: mapped.sinceMs, hostedId })
            : mapped;
        if (pinned?.sinceMs !== mapped.sinceMs) return { kind: 'refused', reason: "the repo's link changed" };
        if (pinned.hostedId === hostedId) return { kind: 'granted', grant: answer.grant };
        return { kind: 'refused', reason: 'another repository has its name now' };
      }
    }
  } catch (error) {
    if (!(error instanceof GitHostUnavailableError)) throw error;
    log.warn('git host unavailable', { ...place, tookMs: clock.nowMs() - askedMs, error });
    return { kind: 'unavailable', untilMs: clock.nowMs() + unavailableKeptMs };
  }
}

/**
 * A repo, if anybody may download from it. For any other name one item is read, whether or not there is such a tenant or
 * repo: neither the answer nor its time tells, and strangers can make the table do no more than that.
 *
 * @throws {LedgerUnavailableError}
 */
export async function findPublicRepo(
  { publicReads, ledger }: Pick<Deps, 'publicReads' | 'ledger'>,
  path: RepoPath,
): Promise<
  | { readonly tenant: TenantRecord; readonly repo: RepoRecord | undefined; readonly publicRead: PublicRead }
  | undefined
> {
  const publicRead = await publicReads.find(path);
  if (!publicRead) return undefined;
  const [tenant, repo] = await Promise.all([ledger.readTenant(path.tenant), ledger.readRepo(path)]);
  if (!tenant || tenant.closedAtMs !== null || !isInForce(publicRead, repo)) return undefined;
  return { tenant, repo, publicRead };
}
