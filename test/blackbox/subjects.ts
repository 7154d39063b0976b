/** Each of them comes off with its line: docs/architecture.md. */
export { alertsSubject } from './subjects/alerts/webhooks.ts';
export { chunksSubject } from './subjects/chunks/chunks.ts';
export { ciSubject } from './subjects/ci/token-exchange.ts';
export { downloadsSubject } from './subjects/downloads/downloads.ts';
export { exportsSubject } from './subjects/exports/exports.ts';
export { filesSubject } from './subjects/files/files.ts';
export { gcSubject } from './subjects/gc/gc.ts';
export { historySubject } from './subjects/history/history.ts';
export { hostsSubject } from './subjects/hosts/git-hosts.ts';
export { invitationsSubject } from './subjects/invitations/invitations.ts';
export { locksSubject } from './subjects/locks/locks.ts';
export { namesSubject } from './subjects/names/names.ts';
export { signInSubject } from './subjects/sign-in/sign-in.ts';
export { statusSubject } from './subjects/status/status.ts';
