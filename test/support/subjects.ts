/** What each subject has for tests that know none. It comes off with its line: docs/architecture.md. */

export { alerts } from './subjects/alerts/subject.ts';
export { chunks } from './subjects/chunks/subject.ts';
export { ci } from './subjects/ci/subject.ts';
export { copies } from './subjects/downloads/lfs/subject.ts';
export { downloads } from './subjects/downloads/subject.ts';
export { exports } from './subjects/exports/subject.ts';
export { files } from './subjects/files/subject.ts';
export { gc } from './subjects/gc/subject.ts';
export { history } from './subjects/history/subject.ts';
export { hosts } from './subjects/hosts/subject.ts';
export { invitations } from './subjects/invitations/subject.ts';
export { locks } from './subjects/locks/subject.ts';
export { names } from './subjects/names/subject.ts';
export { signIn } from './subjects/sign-in/subject.ts';
