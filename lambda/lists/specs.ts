/** What each subject has for a deployment: lambda/routes.ts reads them. */

export { alerts } from '../subjects/alerts/spec.ts';
export { chunks } from '../subjects/chunks/spec.ts';
export { ci } from '../subjects/ci/spec.ts';
export { copies } from '../subjects/downloads/lfs/spec.ts';
export { downloads } from '../subjects/downloads/spec.ts';
export { exports } from '../subjects/exports/spec.ts';
export { files } from '../subjects/files/spec.ts';
export { gc } from '../subjects/gc/spec.ts';
export { history } from '../subjects/history/spec.ts';
export { hosts } from '../subjects/hosts/spec.ts';
export { invitations } from '../subjects/invitations/spec.ts';
export { lfs } from '../subjects/lfs/spec.ts';
export { locks } from '../subjects/locks/spec.ts';
export { names } from '../subjects/names/spec.ts';
export { signIn } from '../subjects/sign-in/spec.ts';
export { status } from '../subjects/status/spec.ts';
