/** What is said of repos, and in subscriptions, beside what the ledger knows. */

export { downloadRepoFields as downloads } from '../subjects/downloads/repo-contract.ts';
export { weekFields as history } from '../subjects/history/repo-contract.ts';
export { linkedRepoFields as hosts } from '../subjects/hosts/repo-contract.ts';
