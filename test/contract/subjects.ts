/** Each of them comes off with its line: docs/architecture.md. */
export { contractsOfAlerts } from './subjects/alerts/contracts.ts';
export { chunkedUploadsContract } from './subjects/chunks/chunked-uploads.contract.ts';
export { exchangeRulesContract } from './subjects/ci/exchange-rules.contract.ts';
export { contractsOfDownloads } from './subjects/downloads/contracts.ts';
export { exportJobsContract } from './subjects/exports/export-jobs.contract.ts';
export { gcContract } from './subjects/gc/gc.contract.ts';
export { historyContract } from './subjects/history/history.contract.ts';
export { contractsOfHosts } from './subjects/hosts/contracts.ts';
export { devicesContract, invitationsContract } from './subjects/invitations/invitations.contract.ts';
export { locksContract } from './subjects/locks/locks.contract.ts';
export { usersContract } from './subjects/sign-in/users.contract.ts';
