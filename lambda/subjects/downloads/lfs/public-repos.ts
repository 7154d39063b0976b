import type { CoreDeps } from '../../../core/ledger/core-deps.ts';
import type { RepoPath, RepoRecord, TenantRecord } from '../../../core/ledger/rules/tenant.ts';
import { isInForce } from '../../../frame/access/rules/repo-mark.ts';
import type { HostPorts } from '../../hosts/ports.ts';
import { isPinInForce, type PinnedRepo, type TenantLink } from '../../hosts/rules/git-hosts.ts';
import { GitHostUnavailableError } from '../../hosts/rules/host-client.ts';
import type { PublicRead } from '../../hosts/rules/public-read.ts';
import { publicAskedMs } from '../../hosts/tenant-links.ts';
import type { DownloadPorts } from '../ports.ts';

/**
 * A repo, if anybody may download from it, by its own setting or by its tenant's link. For any other name two items are read, whether
 * or not there is such a tenant or repo: neither the answer nor its time tells more, and strangers can make the table do no more than
 * that.
 *
 * @throws {LedgerUnavailableError}
 */
export async function findPublicRepo(
  deps: Pick<CoreDeps, 'ledger'> & Pick<DownloadPorts, 'publicReads'> & PublicByLinkDeps,
  path: RepoPath,
): Promise<
  | { readonly tenant: TenantRecord; readonly repo: RepoRecord | undefined; readonly publicRead: PublicRead }
  | undefined
> {
  const { publicReads, tenantLinks, ledger } = deps;
  const [own, link] = await Promise.all([publicReads.find(path), tenantLinks.find(path.tenant)]);
  if (!own && !link?.publicRead) return undefined;
  const [tenant, repo] = await Promise.all([ledger.readTenant(path.tenant), ledger.readRepo(path)]);
  // What the operator says of a suspension is for the tenant's own users.
  if (!tenant || tenant.closedAtMs !== null || tenant.suspended === 'all') return undefined;
  if (own && isInForce(own, repo)) return { tenant, repo, publicRead: own };
  const publicRead = link && (await publicByLink(deps, { ...path, link, record: repo }));
  return publicRead && { tenant, repo, publicRead };
}

/** Who asks is waited for so long. */
const askingMs = 60_000;
/** If the host does not answer, its last word holds for so long. */
const publicSaidMs = 24 * 60 * 60_000;

/**
 * That anybody may download from a repo, because anybody may read its repository there. Only what a person has used, and
 * was public then, is asked for: strangers learn of no other repo, and make the host answer once an hour for each of these.
 *
 * @param input.record as it was read. It is not being deleted.
 * @returns undefined: it is not public. Two items were read.
 * @throws {LedgerUnavailableError}
 */
async function publicByLink(
  deps: PublicByLinkDeps,
  input: RepoPath & { link: TenantLink; record: RepoRecord | undefined },
): Promise<PublicRead | undefined> {
  const { linkedRepos, tenantLinks, clock } = deps;
  const { tenant, repo, link } = input;
  if (!link.publicRead) return undefined;
  const path = { tenant, repo };
  const [own, pin] = await Promise.all([linkedRepos.find(path), tenantLinks.findPin(path)]);
  if (own || !pin?.isPublic || !isPinInForce(pin, input)) return undefined;
  const isPublic = clock.nowMs() < pin.askAgainMs || (await isStillPublic(deps, { path, link, pin }));
  return isPublic ? { repo, ...link.publicRead, sinceMs: pin.sinceMs } : undefined;
}

type PublicByLinkDeps = Pick<CoreDeps, 'clock' | 'log'> &
  Pick<HostPorts, 'linkedRepos' | 'tenantLinks' | 'gitHosts' | 'hostClient'>;

async function isStillPublic(
  deps: PublicByLinkDeps,
  { path, link, pin }: { path: RepoPath; link: TenantLink; pin: PinnedRepo },
): Promise<boolean> {
  const { tenantLinks, clock } = deps;
  const nowMs = clock.nowMs();
  const askAgainMs = nowMs + askingMs;
  const claimed = await tenantLinks.changePin(path, (now) =>
    now?.askAgainMs === pin.askAgainMs ? { ...now, askAgainMs } : undefined,
  );
  const isAsked = claimed?.askAgainMs !== askAgainMs;
  const said = isAsked ? undefined : await askForAnybody(deps, { path, link });
  if (said === undefined) return claimed?.isPublic === true && nowMs < claimed.saidMs + publicSaidMs;
  const isPublic = said.linkedId === pin.linkedId;
  await tenantLinks.changePin(
    path,
    (now) => now && { ...now, isPublic, saidMs: nowMs, askAgainMs: nowMs + publicAskedMs },
  );
  return isPublic;
}

/** @returns undefined: nothing is known. */
async function askForAnybody(
  { gitHosts, hostClient, log }: PublicByLinkDeps,
  { path, link }: { path: RepoPath; link: TenantLink },
): Promise<{ linkedId: string | null } | undefined> {
  const host = gitHosts.find(({ id }) => id === link.host);
  if (!host) return { linkedId: null };
  try {
    return await hostClient.look({ host, name: `${link.organization}/${path.repo}` });
  } catch (error) {
    if (!(error instanceof GitHostUnavailableError)) throw error;
    log.warn('git host unavailable', { ...path, host: host.id, error });
    return undefined;
  }
}
