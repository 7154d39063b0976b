import { repoPrefix, tenantPrefix } from '../../domain/names.ts';
import type { RepoScan } from '../../domain/reconciliation.ts';
import type { RepoRecord } from '../../domain/tenant.ts';
import type { Deps } from '../deps.ts';
import { mapLimited } from '../map-limited.ts';
import type { Lease } from './lease.ts';

/** Repos of unknown size that are begun with 16 requests at once; more of them are probed instead. */
const sixteenAtOnceReposMax = 4;
const reposAtOnce = 8;

export interface ScanReposInput {
  readonly tenant: string;
  readonly known: readonly RepoRecord[];
  /** Repos to scan besides those that a full listing finds. */
  readonly due: ReadonlySet<string>;
  readonly full: boolean;
  readonly lookFor: ReadonlyMap<string, ReadonlySet<string>>;
  readonly isAwaited: boolean;
  readonly deadlineMs?: number;
  readonly lease: Lease;
}

export type ScanReposOutcome =
  | { readonly kind: 'done'; readonly scans: ReadonlyMap<string, RepoScan>; readonly requests: number }
  | { readonly kind: 'unfinished' }
  | { readonly kind: 'superseded' };

/** Thrown out of a scan's page callback, to end a scan that nobody needs any more. */
class SupersededError extends Error {
  override readonly name = 'SupersededError';
}

/**
 * Counts the repos that are due; in full, every folder of the tenant, and what lies beside them as the repo
 * with the empty name.
 */
export async function scanRepos(
  deps: Pick<Deps, 'listing' | 'scan'>,
  input: ScanReposInput,
): Promise<ScanReposOutcome> {
  const renew = async () => {
    if ((await input.lease.renew()) === 'superseded') throw new SupersededError();
  };
  try {
    return await scanAll(deps, input, renew);
  } catch (error) {
    if (error instanceof SupersededError) return { kind: 'superseded' };
    throw error;
  }
}

async function scanAll(
  deps: Pick<Deps, 'listing' | 'scan'>,
  input: ScanReposInput,
  renew: () => Promise<void>,
): Promise<ScanReposOutcome> {
  const names = new Set([
    ...input.known.map((repo) => repo.repo).filter((name) => name !== ''),
    ...input.due,
  ]);
  // What lies beside the folders is known by the listing that finds them.
  const renewByPage = () => {
    input.lease.addListed(1);
    return renew();
  };
  const folders =
    input.full || input.due.has('') ? await listTenant(deps, input.tenant, renewByPage) : undefined;
  for (const name of folders?.names ?? []) names.add(name);
  const wanted = [...names].filter((name) => input.full || input.due.has(name));

  const hints = new Map(
    input.known.filter((repo) => repo.epoch > 0).map((repo) => [repo.repo, repo.objectCount]),
  );
  const unknown = wanted.filter((name) => !hints.has(name)).length;
  const scans = new Map<string, RepoScan>();
  let requests = folders?.requests ?? 0;
  const finished = await mapLimited(wanted, reposAtOnce, async (repo) => {
    const hintObjects = hints.get(repo);
    const lookFor = input.lookFor.get(repo);
    let known = 0;
    const count = (listed: number) => {
      input.lease.addListed(listed - known);
      requests += listed - known;
      known = listed;
    };
    const outcome = await deps.scan.scan({
      prefix: repoPrefix({ tenant: input.tenant, repo }),
      isAwaited: input.isAwaited && unknown <= sixteenAtOnceReposMax,
      ...(hintObjects !== undefined && { hintObjects }),
      ...(lookFor && { lookFor }),
      ...(input.deadlineMs !== undefined && { deadlineMs: input.deadlineMs }),
      onPage: (progress) => {
        count(progress.requests);
        return renew();
      },
    });
    count(outcome.requests);
    if (outcome.kind === 'done') scans.set(repo, outcome);
    return outcome.kind === 'done';
  });
  if (finished.includes(false)) return { kind: 'unfinished' };
  if (folders) addBeside(scans, { beside: folders.beside, known: input.known });
  return { kind: 'done', scans, requests };
}

/** Objects directly below the tenant belong to no repo; they are stored all the same, so they count. */
function addBeside(
  scans: Map<string, RepoScan>,
  found: { beside: { storedBytes: number; objectCount: number }; known: readonly RepoRecord[] },
): void {
  const below = scans.get('');
  const storedBytes = found.beside.storedBytes + (below?.storedBytes ?? 0);
  const objectCount = found.beside.objectCount + (below?.objectCount ?? 0);
  if (objectCount > 0 || found.known.some((repo) => repo.repo === '')) {
    scans.set('', { storedBytes, objectCount, seen: new Set() });
  }
}

/** The folders of a tenant, and what lies beside them. */
export async function listTenant(
  deps: Pick<Deps, 'listing'>,
  tenant: string,
  onPage: () => Promise<void> = async () => undefined,
) {
  const prefix = tenantPrefix(tenant);
  const names = new Set<string>();
  const beside = { storedBytes: 0, objectCount: 0 };
  let continuationToken: string | undefined;
  let requests = 0;
  do {
    const page = await deps.listing.listFolders({ prefix, ...(continuationToken && { continuationToken }) });
    requests += 1;
    for (const folder of page.commonPrefixes) names.add(folder.slice(prefix.length, -1));
    for (const object of page.keys) {
      beside.storedBytes += object.sizeBytes;
      beside.objectCount += 1;
    }
    continuationToken = page.nextContinuationToken;
    await onPage();
  } while (continuationToken !== undefined);
  return { names, beside, requests };
}
