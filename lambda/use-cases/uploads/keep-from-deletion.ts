import type { Deps } from '../../deps.ts';
import { type Deletion, unmarkedObjectsMax } from '../../domain/deletion.ts';
import { PrefixSet } from '../../gc/rules/cleanups.ts';
import { allPages } from '../../rules/async.ts';

/**
 * Takes the objects that a batch asks for out of marked deletions.
 *
 * @param input.names oid → bytes of all that the batch asks for.
 * @param input.stored oid → bytes of what the store had. It was asked before the deletions are read here, up to
 * `listingTrustMs` before the batch began.
 * @returns `deleting` if one of the objects is being deleted now, or was deleted after the store was asked. Nobody
 * can say yet whether it is stored.
 */
export async function keepFromDeletion(
  deps: Pick<Deps, 'ledger' | 'clock' | 'settings'>,
  input: {
    tenant: string;
    repo: string;
    /** How many deletions the tenant has, as last known. */
    deletionCount: number;
    /** Of the tenant. */
    mayHaveOlderKeys?: boolean | undefined;
    names: ReadonlyMap<string, number>;
    stored: ReadonlyMap<string, number>;
  },
): Promise<'kept' | 'deleting'> {
  const { tenant, repo, deletionCount, names: asked } = input;
  if (input.mayHaveOlderKeys) await allPages(deps.ledger.deletions(tenant));
  // To read the few that there are takes less than to ask for each object.
  const deletions = await (deletionCount > asked.size
    ? deps.ledger.deletionsNaming({ tenant, repo, oids: asked.keys() })
    : allPages(deps.ledger.deletionsOf({ tenant, repo })));
  const nowMs = deps.clock.nowMs();
  const gone = new PrefixSet();
  for (const deletion of deletions) {
    const { state, prefixes = '', objects } = deletion;
    // In a giant repo, the record of what is gone may be kept for longer than it concerns a batch.
    if (state === 'gone' && nowMs > deletion.deadlineMs + 2 * deps.settings.clockSkewMs) continue;
    if (state === 'gone') gone.addText(prefixes);
    // What is gone, and was not stored when the store was asked, is uploaded like any other object.
    const affected = state === 'gone' ? input.stored : asked;
    const names = [...objects.keys()].filter((name) => affected.has(name));
    if (names.length === 0) continue;
    if (state !== 'marked') return 'deleting';
    if ((await unmark(deps, { tenant, deletion, names })) === 'refused') return 'deleting';
  }
  return [...input.stored.keys()].some((oid) => gone.has(oid)) ? 'deleting' : 'kept';
}

/**
 * Takes objects out of a deletion, some in each write.
 *
 * @returns `refused`: a deleter claimed it first. It got only what was not taken out before, which then stays.
 */
async function unmark(
  { ledger }: Pick<Deps, 'ledger'>,
  { tenant, deletion, names }: { tenant: string; deletion: Deletion; names: readonly string[] },
): Promise<'unmarked' | 'refused'> {
  const { repo, id: deletionId, dueAtMs } = deletion;
  for (let begin = 0; begin < names.length; begin += unmarkedObjectsMax) {
    const some = names.slice(begin, begin + unmarkedObjectsMax);
    if ((await ledger.unmark({ tenant, repo, deletionId, dueAtMs, names: some })) === 'refused')
      return 'refused';
  }
  return 'unmarked';
}
