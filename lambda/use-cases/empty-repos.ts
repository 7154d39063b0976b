import { type Deletion, deletionObjectsMax } from '../domain/deletion.ts';
import { repoPrefix } from '../domain/names.ts';
import { collect } from './collect.ts';
import type { Deps } from './deps.ts';
import { type DeletionDeps, liveHolders, runDeletion } from './run-deletions.ts';

/** Bytes of names in one deletion: with the sizes they fit an item of 400 KB. */
const nameBytesMax = 200_000;
/** Kept back from the deadline, for the deletion that is under way then. */
const reserveMs = 70_000;

/**
 * Goes on with emptying the repos that are closed, page by page. What live reservations hold stays until
 * they are dead; then the schedule comes back. An empty repo with no reservation left is opened again, so
 * that its name can be used anew.
 *
 * @returns whether all is done; false where the deadline came first.
 */
export async function emptyClosedRepos(
  deps: DeletionDeps & Pick<Deps, 'listing'>,
  input: { tenant: string; deadlineMs: number },
): Promise<boolean> {
  const { ledger, clock } = deps;
  const { tenant } = input;
  const repos = await collect(ledger.repos(tenant));
  for (const { repo, closedAtMs } of repos) {
    if (closedAtMs === null) continue;
    const outcome = await emptyRepo(deps, { ...input, repo });
    if (outcome === 'late') return false;
    if (outcome === 'held') continue;
    const holders = await liveHolders(deps, { tenant, repo });
    const running = (await collect(ledger.deletions(tenant))).some((deletion) => deletion.repo === repo);
    if (holders.length === 0 && !running && clock.nowMs() > closedAtMs + deps.settings.pendingVoidAfterMs) {
      await ledger.setRepoClosed({ tenant, repo, closedAtMs: null });
    }
  }
  return true;
}

async function emptyRepo(
  deps: DeletionDeps & Pick<Deps, 'listing'>,
  input: { tenant: string; repo: string; deadlineMs: number },
): Promise<'empty' | 'held' | 'late'> {
  const { tenant, repo, deadlineMs } = input;
  const named = (await collect(deps.ledger.deletions(tenant))).filter((deletion) => deletion.repo === repo);
  const waiting = new Set(named.flatMap((deletion) => [...deletion.objects.keys()]));
  let startAfter: string | undefined;
  let isHeld = waiting.size > 0;
  for (;;) {
    if (deps.clock.nowMs() + reserveMs > deadlineMs) return 'late';
    const page = await nextObjects(deps, { tenant, repo, startAfter, waiting });
    if (page.objects.size > 0) {
      const deletion: Deletion = {
        id: deps.ids.random(16),
        repo,
        state: 'marked',
        objects: page.objects,
        dueAtMs: deps.clock.nowMs(),
        deadlineMs: 0,
      };
      await deps.ledger.putDeletion({ tenant, deletion });
      const gone = await runDeletion(deps, { tenant, deletion });
      isHeld ||= gone?.size !== page.objects.size;
    }
    if (page.lastKey === undefined) return isHeld ? 'held' : 'empty';
    startAfter = page.lastKey;
  }
}

/** The next objects of a repo that no deletion names yet, as many as one can name; `lastKey` where more may follow. */
async function nextObjects(
  deps: Pick<Deps, 'listing'>,
  input: { tenant: string; repo: string; startAfter: string | undefined; waiting: ReadonlySet<string> },
): Promise<{ objects: Map<string, number>; lastKey: string | undefined }> {
  const prefix = repoPrefix(input);
  const page = await deps.listing.listPage({
    prefix,
    maxKeys: deletionObjectsMax,
    ...(input.startAfter !== undefined && { startAfter: input.startAfter }),
  });
  const objects = new Map<string, number>();
  let nameBytes = 0;
  for (let index = 0; index < page.keyCount; index += 1) {
    const name = page.keyAt(index).slice(prefix.length);
    nameBytes += Buffer.byteLength(name);
    if (nameBytes > nameBytesMax) return { objects, lastKey: page.keyAt(index - 1) };
    if (!input.waiting.has(name)) objects.set(name, page.sizeAt(index));
  }
  return { objects, lastKey: page.isTruncated ? page.keyAt(page.keyCount - 1) : undefined };
}
