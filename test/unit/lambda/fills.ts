/** Each of them comes off with its line: docs/architecture.md. */

export { ciFill } from './subjects/ci/fill.ts';
export { gcFill } from './subjects/gc/fill.ts';
export { historyFill } from './subjects/history/fill.ts';
export { invitationsFill } from './subjects/invitations/fill.ts';
export { locksFill } from './subjects/locks/fill.ts';
