import { allPages } from '../all-pages.ts';
import type { Deps } from '../deps.ts';

/**
 * Takes objects that somebody needs out of the deletions that are marked.
 *
 * @param input.stored names that the store said it has, before the deletions are read here.
 * @returns `deleting` where one of them is going right now, or went since the store was asked: whether it is
 * stored will be known in a moment.
 */
export async function keepFromDeletion(
  deps: Pick<Deps, 'ledger'>,
  input: {
    tenant: string;
    repo: string;
    names: ReadonlyMap<string, number>;
    stored: ReadonlyMap<string, number>;
  },
): Promise<'kept' | 'deleting'> {
  const { tenant, repo } = input;
  const deletions = await allPages(deps.ledger.deletions(tenant));
  for (const deletion of deletions) {
    if (deletion.repo !== repo) continue;
    const wanted = deletion.state === 'gone' ? input.stored : input.names;
    const names = [...deletion.objects.keys()].filter((name) => wanted.has(name));
    if (names.length === 0) continue;
    if (deletion.state !== 'marked') return 'deleting';
    if ((await deps.ledger.unmark({ tenant, repo, deletionId: deletion.id, names })) === 'refused')
      return 'deleting';
  }
  return 'kept';
}
