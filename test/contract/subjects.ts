/** Each of them comes off with its line: docs/architecture.md. */
export { contractsOfAlerts } from './subjects/alerts/contracts.ts';
export { chunkedUploadsContract } from './subjects/chunks/chunked-uploads.contract.ts';
export { exchangeRulesContract } from './subjects/ci/exchange-rules.contract.ts';
export { downloadsContract } from './subjects/downloads/downloads.contract.ts';
export { publicReadsContract } from './subjects/downloads/public-reads.contract.ts';
export { exportJobsContract } from './subjects/exports/export-jobs.contract.ts';
export { gcContract } from './subjects/gc/gc.contract.ts';
export { historyContract } from './subjects/history/history.contract.ts';
export { keptGrantsContract } from './subjects/hosts/kept-grants.contract.ts';
export { linkedReposContract } from './subjects/hosts/linked-repos.contract.ts';
export { devicesContract, invitationsContract } from './subjects/invitations/invitations.contract.ts';
export { locksContract } from './subjects/locks/locks.contract.ts';
export { usersContract } from './subjects/sign-in/users.contract.ts';
