/** What is said of the routes: a line a subject. */

export { auditContract as audit } from '../frame/contract/audit.ts';
export { deleteContract as delete } from '../frame/contract/deletes.ts';
export { objectContract as object } from '../frame/contract/objects.ts';
export { reconcileContract as reconcile } from '../frame/contract/repos.ts';
export { reservationContract as reservation } from '../frame/contract/reservations.ts';
export { scanContract as scan } from '../frame/contract/scans.ts';
export { serviceContract as service } from '../frame/contract/service.ts';
export { sessionContract as session } from '../frame/contract/sessions.ts';
export { tenantContract as tenant } from '../frame/contract/tenants.ts';
export { tokenContract as token } from '../frame/contract/tokens.ts';
export { alertContracts as alerts } from '../subjects/alerts/contracts.ts';
export { lfsChunksContract as lfsChunks } from '../subjects/chunks/contract.ts';
export { exchangeContract as exchange } from '../subjects/ci/contract.ts';
export { downloadContract as download } from '../subjects/downloads/contract.ts';
export { lfsCopiesContract as lfsCopies } from '../subjects/downloads/lfs/copies-contract.ts';
export { exportContract as export } from '../subjects/exports/contract.ts';
export { fileContract as file } from '../subjects/files/contract.ts';
export { gcContract as gc } from '../subjects/gc/contract.ts';
export { historyContracts as history } from '../subjects/history/contracts.ts';
export { tenantLinkContract as tenantLink } from '../subjects/hosts/contract.ts';
export { invitationContract as invitation } from '../subjects/invitations/contract.ts';
export { batchContract as batch, verifyContract as verify } from '../subjects/lfs/contract.ts';
export { lockContracts as lock } from '../subjects/locks/contracts.ts';
export { nameContract as name } from '../subjects/names/contract.ts';
export { signInContracts as signIn } from '../subjects/sign-in/contracts.ts';
export { statusContract as status } from '../subjects/status/contract.ts';
