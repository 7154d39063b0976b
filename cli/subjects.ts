/** What the command line has of each subject. */
export { alerts } from './subjects/alerts/alert.ts';
export { chunks } from './subjects/chunks/connect.ts';
export { ci } from './subjects/ci/rule.ts';
export { downloads } from './subjects/downloads/downloads.ts';
export { copies } from './subjects/downloads/lfs/service.ts';
export { exports } from './subjects/exports/export.ts';
export { files } from './subjects/files/files.ts';
export { gc } from './subjects/gc/gc.ts';
export { history } from './subjects/history/history.ts';
export { hosts } from './subjects/hosts/link.ts';
export { invitations } from './subjects/invitations/invite.ts';
export { locks } from './subjects/locks/lock.ts';
export { names } from './subjects/names/names.ts';
export { signIn } from './subjects/sign-in/user.ts';
export { status } from './subjects/status/status.ts';
