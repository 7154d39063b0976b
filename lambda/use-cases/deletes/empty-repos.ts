import type { Deletion } from '../../domain/deletion.ts';
import { allPages } from '../all-pages.ts';
import type { Deps } from '../deps.ts';
import { listInDeletions } from './list-repo.ts';
import { type DeletionDeps, liveHolders, runDeletion } from './run-deletions.ts';

type EmptyDeps = DeletionDeps & Pick<Deps, 'listing'>;

/**
 * - `done`: for now; what is left waits for reservations to die, or for deletes without an answer, and the
 *   schedule comes back to it.
 * - `opening`: a repo is empty, and is opened once no batch from before its closing can still be running.
 * - `unfinished`: the time was up first.
 */
export type Emptying = 'done' | 'opening' | 'unfinished';

/**
 * Goes on with emptying the repos that are closed. One that is empty, with no reservation left, is opened
 * again, so that its name can be used anew.
 *
 * @param input.untilMs nothing more is begun after that, but for one deletion in any case.
 */
export async function emptyClosedRepos(
  deps: EmptyDeps,
  input: { tenant: string; untilMs: number },
): Promise<Emptying> {
  const { tenant } = input;
  const repos = await allPages(deps.ledger.repos(tenant));
  let isOpening = false;
  let isFirst = true;
  for (const { repo, closedAtMs } of repos) {
    if (closedAtMs === null) continue;
    if (!isFirst && deps.clock.nowMs() > input.untilMs) return 'unfinished';
    isFirst = false;
    const outcome = await emptyRepo(deps, { ...input, repo });
    if (outcome === 'unfinished') return outcome;
    if (outcome === 'left') continue;
    // Whoever read the repo before it was closed is done by then, or will never issue a URL.
    if (deps.clock.nowMs() <= closedAtMs + deps.settings.pendingVoidAfterMs) isOpening = true;
    else await openUnlessHeld(deps, { tenant, repo, closedAtMs });
  }
  return isOpening ? 'opening' : 'done';
}

async function openUnlessHeld(
  deps: EmptyDeps,
  input: { tenant: string; repo: string; closedAtMs: number },
): Promise<void> {
  const { tenant, repo } = input;
  if ((await liveHolders(deps, { tenant, repo })).length > 0) return;
  if ((await deletionsOf(deps, { tenant, repo })).length > 0) return;
  await deps.ledger.openRepo(input);
  deps.log.info('repo emptied', { tenant, repo });
}

async function emptyRepo(
  deps: EmptyDeps,
  input: { tenant: string; repo: string; untilMs: number },
): Promise<'empty' | 'left' | 'unfinished'> {
  const { tenant, repo, untilMs } = input;
  const left = new Set<string>();
  for (const deletion of await deletionsOf(deps, { tenant, repo })) {
    // Nobody can push to a closed repo, so a grace is waited for in vain.
    const run =
      deletion.state === 'marked' ? await runDeletion(deps, { tenant, deletion, isClosed: true }) : undefined;
    if (run?.kind === 'unanswered') return 'left';
    if (run?.kind !== 'ended' || run.heldCount > 0)
      for (const name of deletion.objects.keys()) left.add(name);
    if (deps.clock.nowMs() > untilMs) return 'unfinished';
  }
  for await (const listed of listInDeletions(deps, { tenant, repo })) {
    const objects = new Map([...listed].filter(([name]) => !left.has(name)));
    if (objects.size === 0) continue;
    const deletion: Deletion = {
      id: deps.ids.random(16),
      repo,
      state: 'marked',
      objects,
      dueAtMs: deps.clock.nowMs(),
      deadlineMs: 0,
    };
    await deps.ledger.putDeletion({ tenant, deletion });
    const run = await runDeletion(deps, { tenant, deletion, isClosed: true });
    // The store struggles: each deletion more would leave a note on the tenant's item.
    if (run.kind === 'unanswered') return 'left';
    if (run.kind === 'refused' || run.heldCount > 0) for (const name of objects.keys()) left.add(name);
    if (deps.clock.nowMs() > untilMs) return 'unfinished';
  }
  return left.size === 0 ? 'empty' : 'left';
}

/** Those of a repo that are not gone. */
async function deletionsOf(
  deps: Pick<Deps, 'ledger'>,
  path: { tenant: string; repo: string },
): Promise<Deletion[]> {
  const deletions = await allPages(deps.ledger.deletions(path.tenant));
  return deletions.filter((deletion) => deletion.repo === path.repo && deletion.state !== 'gone');
}
