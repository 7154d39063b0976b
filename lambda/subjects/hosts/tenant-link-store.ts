import type { RepoPath } from '../../core/ledger/rules/tenant.ts';
import type { Table } from '../../core/table/requests.ts';
import { createDynamoDbRepoMarks } from '../../frame/access/repo-mark-store.ts';
import type { RepoMark } from '../../frame/access/rules/repo-mark.ts';
import {
  type PinnedRepo,
  pinnedReposMax,
  pinnedSchema,
  type TenantLink,
  tenantLinkSchema,
} from './rules/git-hosts.ts';

/** No repo has this name: what is decided of all of them is in its place. */
const allRepos = '';
/** Notes of repositories that one request ends. */
const pinsAtOnce = 1000;

/**
 * Which tenants are linked to an organization, and the repositories that were used by that. On the ledger's table, as what
 * is decided of repos: an item for each tenant, and one for each repository.
 */
export function createDynamoDbTenantLinks(table: Table) {
  const links = createDynamoDbRepoMarks<TenantLink & RepoMark>(table, {
    partition: (tenant) => `LINK#${tenant}`,
    field: 'link',
    fields: tenantLinkSchema,
    listedMax: 1,
  });
  const pins = createDynamoDbRepoMarks<PinnedRepo>(table, {
    partition: (tenant) => `PINNED#${tenant}`,
    field: 'pinned',
    fields: pinnedSchema,
    listedMax: pinsAtOnce,
  });
  const placeOf = (tenant: string) => ({ tenant, repo: allRepos });
  return {
    /** One read of one item, whether or not there is such a tenant. @throws {LedgerUnavailableError} */
    find: (tenant: string): Promise<TenantLink | undefined> => links.find(placeOf(tenant)),
    /** Changes it over what was read. @returns what holds now. @throws {LedgerUnavailableError} */
    change: (
      tenant: string,
      change: (before: TenantLink | undefined) => TenantLink | undefined,
    ): Promise<TenantLink | undefined> => links.change(placeOf(tenant), change),
    /** @returns what there was. @throws {LedgerUnavailableError} */
    end: ({ tenant, atMs }: { tenant: string; atMs: number }): Promise<TenantLink | undefined> =>
      links.end({ ...placeOf(tenant), atMs }),
    /**
     * Counts one more repository, and notes whose it is if it's the first.
     *
     * @returns false: there are too many, the link is another, or the repository is another organization's.
     */
    async countPin({ tenant, sinceMs, organizationId }: PinCount): Promise<boolean> {
      let isCounted = false;
      await links.change(placeOf(tenant), (link) => {
        const isOurs = (link?.organizationId ?? organizationId) === organizationId;
        isCounted = link?.sinceMs === sinceMs && isOurs && link.pinnedCount < pinnedReposMax;
        return link && isCounted ? { ...link, organizationId, pinnedCount: link.pinnedCount + 1 } : undefined;
      });
      return isCounted;
    },
    findPin: (path: RepoPath): Promise<PinnedRepo | undefined> => pins.find(path),
    changePin: (
      path: RepoPath,
      change: (before: PinnedRepo | undefined) => Omit<PinnedRepo, 'repo'> | undefined,
    ): Promise<PinnedRepo | undefined> => pins.change(path, change),
    /** Ends some of a tenant's. @returns whether more may be left. @throws {LedgerUnavailableError} */
    async endSomePins({ tenant, atMs }: { tenant: string; atMs: number }): Promise<{ hasMore: boolean }> {
      const found = await pins.list(tenant);
      for (const { repo } of found) await pins.end({ tenant, repo, atMs });
      return { hasMore: found.length >= pinsAtOnce };
    },
  };
}

interface PinCount {
  readonly tenant: string;
  /** Of the link. */
  readonly sinceMs: number;
  readonly organizationId: string;
}

export type TenantLinks = ReturnType<typeof createDynamoDbTenantLinks>;
