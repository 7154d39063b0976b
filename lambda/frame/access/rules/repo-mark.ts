import type { RepoRecord } from '../../../core/ledger/rules/tenant.ts';

/** Something that is decided of a repo, until it is ended: that it is public, or mapped. */
export interface RepoMark {
  readonly repo: string;
  /** When this was decided. */
  readonly sinceMs: number;
}

/**
 * Whether a mark is in force. A delete of the repo ends it, also if what ends it is lost or lands late: what is opened
 * again under its name was never marked.
 *
 * @param repo undefined: the ledger does not know it.
 */
export function isInForce(
  { sinceMs }: Pick<RepoMark, 'sinceMs'>,
  repo: Pick<RepoRecord, 'closedAtMs' | 'endedClosingMs'> | undefined,
): boolean {
  if (repo === undefined) return true;
  return repo.closedAtMs === null && sinceMs > (repo.endedClosingMs ?? 0);
}
