import { valuesOf } from './core/rules/types.ts';
import { type RepoContract, repoContractWith } from './frame/contract/repos.ts';
import * as fields from './lists/repo-fields.ts';

/** What is said of repos, by the frame and by these. */
export const repos = repoContractWith(valuesOf(fields));

/** As the frame knows it: what subjects added, they read themselves. */
export const repoContract = repos.routes as unknown as RepoContract;
