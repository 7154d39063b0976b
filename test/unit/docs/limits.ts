/** Each of them comes off with its line: docs/architecture.md. */

export { ciLimits } from './subjects/ci/limits.ts';
export { gcLimits } from './subjects/gc/limits.ts';
export { historyLimits } from './subjects/history/limits.ts';
export { invitationsLimits } from './subjects/invitations/limits.ts';
export { locksLimits } from './subjects/locks/limits.ts';
