/** What is said of a repo beside what the ledger knows. Of a change they are asked in the order of these names. */

export { copiesPart as copies, publicRepoPart as downloads } from '../subjects/downloads/repo-parts.ts';
export { weekPart as history } from '../subjects/history/routes.ts';
export { linkedRepoPart as hosts } from '../subjects/hosts/repo-parts.ts';
