/**
 * What subjects have for the management API: its routes, what ends at once with a repo, a tenant or a user, what they add to answers,
 * and what the table keeps of them, each store by its name in `Deps`.
 */

export { alertManagement as alerts } from '../subjects/alerts/management.ts';
export { exchangeManagement as ci } from '../subjects/ci/management.ts';
export { downloadManagement as downloads } from '../subjects/downloads/management.ts';
export { exportManagement as exports } from '../subjects/exports/management.ts';
export { gcManagement as gc } from '../subjects/gc/management.ts';
export { historyManagement as history } from '../subjects/history/management.ts';
export { hostManagement as hosts } from '../subjects/hosts/management.ts';
export { invitationManagement as invitations } from '../subjects/invitations/management.ts';
export { lockManagement as locks } from '../subjects/locks/management.ts';
export { nameManagement as names } from '../subjects/names/management.ts';
export { signInManagement as signIn } from '../subjects/sign-in/management.ts';
export { statusManagement as status } from '../subjects/status/management.ts';
