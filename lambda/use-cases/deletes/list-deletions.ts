import type { DeletionPage } from '../../adapters/dynamodb/deletions.ts';
import type { Input } from '../../adapters/dynamodb/ledger.ts';
import type { Deps } from '../../deps.ts';
import { type Deletion, isVoid } from '../../domain/deletion.ts';
import { mapLimited } from '../../rules/async.ts';

const reposAtOnce = 8;

/** One object that somebody asked to delete, for people. */
export interface ShownDeletion {
  readonly repo: string;
  readonly oid: string;
  readonly sizeBytes: number;
  /** `marked`: a push that names it keeps it. `deleting`: nobody can keep it any more. */
  readonly state: 'marked' | 'deleting';
  /** It goes no sooner. */
  readonly dueAtMs: number;
}

/**
 * One page of the objects that somebody asked to delete one by one, of a tenant or of one repo. What goes with a whole repo,
 * or by a clean-up, is left out: those have no grace time, and are told where they are asked for. So is what was called off.
 * A page can be shorter than asked for.
 *
 * It takes one query, and then one read for each repo on the page.
 *
 * @throws {LedgerUnavailableError}
 */
export async function listDeletions(
  { ledger, clock, settings }: Pick<Deps, 'ledger' | 'clock' | 'settings'>,
  input: Input<'listDeletions'>,
): Promise<{ deletions: readonly ShownDeletion[]; next: DeletionPage['next'] }> {
  const { tenant } = input;
  const page = await readPage(ledger, input);
  const asked = page.deletions.filter(({ sweep }) => sweep === undefined);
  const names = [...new Set(asked.map(({ repo }) => repo))];
  const read = await mapLimited(names, reposAtOnce, (repo) => ledger.readRepo({ tenant, repo }));
  const repos = new Map(names.map((repo, index) => [repo, read[index]]));
  const nowMs = clock.nowMs();
  const goes = (deletion: Deletion) => {
    const repo = repos.get(deletion.repo);
    // One of a whole repo is void once that is open.
    return (repo?.closedAtMs ?? null) === null && !isVoid(settings, deletion, { repo, nowMs });
  };
  return { deletions: asked.filter(goes).flatMap(show), next: page.next };
}

/** A cursor may be of another repo than is asked for: then nothing of it was shown before, or all of it. */
async function readPage(ledger: Deps['ledger'], input: Input<'listDeletions'>): Promise<DeletionPage> {
  const { after, ...fromTheFirst } = input;
  const { repo } = input;
  if (after === undefined || repo === undefined || after.repo === repo) return ledger.listDeletions(input);
  return `${after.repo}#` < `${repo}#` ? ledger.listDeletions(fromTheFirst) : { deletions: [], next: null };
}

function show({ repo, state, objects, dueAtMs }: Deletion): ShownDeletion[] {
  if (state === 'gone') return [];
  return [...objects].map(([oid, sizeBytes]) => ({ repo, oid, sizeBytes, state, dueAtMs }));
}
