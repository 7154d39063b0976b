/** The routes of the function `management`: a line a subject. */

export { auditOperations as audit } from '../frame/management/audit.ts';
export { deleteOperations as delete } from '../frame/management/deletes.ts';
export { objectOperations as object } from '../frame/management/objects.ts';
export { reconcileOperations as reconcile } from '../frame/management/repos.ts';
export { reservationOperations as reservation } from '../frame/management/reservations.ts';
export { scanOperations as scan } from '../frame/management/scans.ts';
export { sessionOperations as session } from '../frame/management/sessions.ts';
export { tenantOperations as tenant } from '../frame/management/tenants.ts';
export { tokenOperations as token } from '../frame/management/tokens.ts';
export { alertOperations as alerts } from '../subjects/alerts/routes.ts';
export { exchangeOperations as exchange } from '../subjects/ci/routes.ts';
export { downloadOperations as download } from '../subjects/downloads/routes.ts';
export { exportOperations as export } from '../subjects/exports/routes.ts';
export { gcOperations as gc } from '../subjects/gc/routes.ts';
export { historyOperations as history } from '../subjects/history/routes.ts';
export { tenantLinkOperations as tenantLink } from '../subjects/hosts/routes.ts';
export { invitationOperations as invitation } from '../subjects/invitations/routes.ts';
export { lockOperations as lock } from '../subjects/locks/routes.ts';
export { signInOperations as signIn } from '../subjects/sign-in/user-routes.ts';
export { statusOperations as status } from '../subjects/status/routes.ts';
