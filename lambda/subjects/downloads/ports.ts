import type { RepoPath, RepoRecord } from '../../core/ledger/rules/tenant.ts';
import type { PublicRead } from '../../frame/access/rules/public-read.ts';
import type { Copier } from './copier.ts';
import type { Copies } from './copy-store.ts';
import type { Downloads } from './download-store.ts';
import type { CopyQueue } from './messages.ts';
import type { PublicReads } from './public-read-store.ts';

/** Downloads, and copies from other servers. */
export interface DownloadPorts {
  readonly downloads: Downloads;
  readonly publicReads: PublicReads;
  /** By what a repo is public beside its own setting, in the order in which they are asked. */
  readonly publicWays: readonly PublicWay[];
  readonly copies: Copies;
  readonly copyQueue: CopyQueue;
  readonly copier: Copier;
}

/**
 * A subject's way for a repo to be public.
 *
 * @returns undefined: it has none for such a path. Otherwise what tells, once the repo was read. It's not being deleted then.
 * @throws {LedgerUnavailableError} from both.
 */
type PublicWay = (
  path: RepoPath,
) => Promise<((repo: RepoRecord | undefined) => Promise<PublicRead | undefined>) | undefined>;
