import type { Deps } from '../../deps.ts';
import type { DeletionDeps } from '../deletes/run-deletions.ts';

/** What a clean-up needs to go on: beside what deletes need, a listing and files of its own. */
export type CleanupDeps = DeletionDeps &
  Pick<Deps, 'listing' | 'exportJobs'> & {
    readonly archives: Pick<Deps['archives'], 'put' | 'get'>;
  };
