import { type RepoContract, repoContractWith } from './frame/contract/repos.ts';
import { copiedRepoFields, publicRepoFields } from './subjects/downloads/repo-contract.ts';
import { weekFields } from './subjects/history/repo-contract.ts';
import { linkedRepoFields } from './subjects/hosts/repo-contract.ts';

/** What is said of repos, by the frame and by these. */
export const repos = repoContractWith([weekFields, publicRepoFields, linkedRepoFields, copiedRepoFields]);

/** As the frame knows it: what subjects added, they read themselves. */
export const repoContract = repos.routes as unknown as RepoContract;
