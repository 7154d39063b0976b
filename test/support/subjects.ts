/** Each of them comes off with its line: docs/architecture.md. */

export { ciFill } from './subjects/ci/subject.ts';
export { gcFill } from './subjects/gc/subject.ts';
export { historyFill } from './subjects/history/subject.ts';
export { invitationsFill } from './subjects/invitations/subject.ts';
export { locksFill } from './subjects/locks/subject.ts';
