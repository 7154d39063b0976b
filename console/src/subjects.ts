/** What the views that are fetched together have of each subject. */
export { alerts } from './subjects/alerts/parts.tsx';
export { ci } from './subjects/ci/ci-rules.tsx';
export { downloads } from './subjects/downloads/public-access.tsx';
export { exports } from './subjects/exports/exports.tsx';
export { files } from './subjects/files/files.tsx';
export { gc } from './subjects/gc/gc.tsx';
export { history } from './subjects/history/outlook.tsx';
export { hosts } from './subjects/hosts/git-host.tsx';
export { invitations } from './subjects/invitations/invitations.tsx';
export { locks } from './subjects/locks/locks.tsx';
export { names } from './subjects/names/names.tsx';
export { signIn } from './subjects/sign-in/users.tsx';
export { status } from './subjects/status/status.tsx';
