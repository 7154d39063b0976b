import { repoPrefix } from '../../domain/names.ts';
import type { RepoScan } from '../../domain/repo-reservations.ts';
import type { RepoRecord } from '../../domain/tenant.ts';
import type { PathScanOutcome } from '../../ports/path-scan.ts';
import type { Deps } from '../deps.ts';
import { listTenant, type TenantListing } from '../list-tenant.ts';
import { mapLimited } from '../map-limited.ts';
import type { Lease } from './lease.ts';

/** Repos of unknown size that may each begin with 16 requests. If there are more, each begins with one page. */
const sixteenAtOnceReposMax = 4;
const reposAtOnce = 8;

export interface ScanReposInput {
  readonly tenant: string;
  /** Repos that the ledger knows. */
  readonly known: readonly RepoRecord[];
  /** Repos to scan. A full scan adds those that the ledger knows and those that the bucket lists. */
  readonly due: ReadonlySet<string>;
  readonly isFull: boolean;
  /** The oids of a repo of which the result must say whether the scan saw them. */
  readonly lookFor: (repo: string) => ReadonlySet<string>;
  /** Somebody waits for the outcome: more requests at a time. */
  readonly isAwaited: boolean;
  readonly deadlineMs?: number;
  /** Renewed after each page, and charged for each LIST request. */
  readonly lease: Lease;
}

export type ScanReposOutcome =
  | {
      readonly kind: 'done';
      /** Repo → what its scan found. */
      readonly scans: ReadonlyMap<string, RepoScan>;
      /** LIST requests. */
      readonly requests: number;
    }
  /** The deadline passed first. */
  | { readonly kind: 'unfinished' }
  /** Another reconcile took the lease. */
  | { readonly kind: 'superseded' };

/** Thrown from a page callback, to end a scan that nobody needs any more. */
class SupersededError extends Error {
  override readonly name = 'SupersededError';
}

/**
 * Scans the repos that are due. A full scan covers every folder of the tenant. What lies beside the folders counts
 * as the repo with the empty name.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function scanRepos(
  deps: Pick<Deps, 'listing' | 'scan'>,
  input: ScanReposInput,
): Promise<ScanReposOutcome> {
  try {
    return await scanAll(deps, input);
  } catch (error) {
    if (error instanceof SupersededError) return { kind: 'superseded' };
    throw error;
  }
}

async function scanAll(
  deps: Pick<Deps, 'listing' | 'scan'>,
  input: ScanReposInput,
): Promise<ScanReposOutcome> {
  const { tenant, lease, known } = input;
  const onPage = () => {
    lease.addRequests(1);
    return renewLease(lease);
  };
  // What lies beside the folders is known only from the listing that finds the folders.
  const root = input.isFull || input.due.has('') ? await listTenant(deps, { tenant, onPage }) : undefined;
  const repos = selectRepos(input, root);
  const hints = new Map(
    known.filter(({ epoch }) => epoch > 0).map((record) => [record.repo, record.objectCount]),
  );
  const withoutHint = repos.filter((repo) => !hints.has(repo)).length;
  const isAwaited = input.isAwaited && withoutHint <= sixteenAtOnceReposMax;

  const scans = new Map<string, RepoScan>();
  let requests = root?.requests ?? 0;
  const isDone = await mapLimited(repos, reposAtOnce, async (repo) => {
    const outcome = await scanRepo(deps, { ...input, repo, hintObjects: hints.get(repo), isAwaited });
    requests += outcome.requests;
    if (outcome.kind === 'done') scans.set(repo, outcome);
    return outcome.kind === 'done';
  });
  if (isDone.includes(false)) return { kind: 'unfinished' };
  if (root) addRootObjects(scans, { root, known });
  return { kind: 'done', scans, requests };
}

/** Names, each once. */
function selectRepos(input: ScanReposInput, root: TenantListing | undefined): string[] {
  const known = input.known.map(({ repo }) => repo).filter((repo) => repo !== '');
  const all = new Set([...known, ...input.due, ...(root?.folders ?? [])]);
  return [...all].filter((repo) => input.isFull || input.due.has(repo));
}

async function scanRepo(
  deps: Pick<Deps, 'scan'>,
  input: ScanReposInput & { repo: string; hintObjects: number | undefined },
): Promise<PathScanOutcome> {
  const { tenant, repo, hintObjects, isAwaited, deadlineMs, lease } = input;
  let charged = 0;
  const charge = (requests: number) => {
    lease.addRequests(requests - charged);
    charged = requests;
  };
  const outcome = await deps.scan.scan({
    prefix: repoPrefix({ tenant, repo }),
    isAwaited,
    ...(hintObjects !== undefined && { hintObjects }),
    lookFor: input.lookFor(repo),
    ...(deadlineMs !== undefined && { deadlineMs }),
    onPage: (progress) => {
      charge(progress.requests);
      return renewLease(lease);
    },
  });
  charge(outcome.requests);
  return outcome;
}

async function renewLease(lease: Lease): Promise<void> {
  if ((await lease.renew()) === 'superseded') throw new SupersededError();
}

/** The repo with the empty name: the objects beside the folders, and those in the folder without a name. */
function addRootObjects(
  scans: Map<string, RepoScan>,
  { root, known }: { root: TenantListing; known: readonly RepoRecord[] },
): void {
  const nameless = scans.get('');
  const storedBytes = root.rootObjects.storedBytes + (nameless?.storedBytes ?? 0);
  const objectCount = root.rootObjects.objectCount + (nameless?.objectCount ?? 0);
  if (objectCount > 0 || known.some(({ repo }) => repo === '')) {
    scans.set('', { storedBytes, objectCount, seen: new Set() });
  }
}
