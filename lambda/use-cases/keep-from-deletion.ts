import { collect } from './collect.ts';
import type { Deps } from './deps.ts';

/**
 * Takes objects that somebody needs out of the deletions that are marked.
 *
 * @returns `deleting` where one of them is going right now: whether it is stored will be known in a moment.
 */
export async function keepFromDeletion(
  deps: Pick<Deps, 'ledger'>,
  input: { tenant: string; repo: string; names: ReadonlyMap<string, number> },
): Promise<'kept' | 'deleting'> {
  const { tenant, repo } = input;
  const deletions = await collect(deps.ledger.deletions(tenant));
  for (const deletion of deletions) {
    const names = [...deletion.objects.keys()].filter((name) => input.names.has(name));
    if (deletion.repo !== repo || names.length === 0) continue;
    if (deletion.state === 'deleting') return 'deleting';
    if ((await deps.ledger.unmark({ tenant, repo, deletionId: deletion.id, names })) === 'refused')
      return 'deleting';
  }
  return 'kept';
}
