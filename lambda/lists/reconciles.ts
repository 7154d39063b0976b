/**
 * What subjects have where reconciles run: what they are asked whether something of a repo or a tenant is left, what keeps objects
 * from being deleted, work on tenants that goes on in the same queue, and stores of these.
 */

export { publicReconciles as downloads } from '../subjects/downloads/seams.ts';
export { exportReconciles as exports } from '../subjects/exports/seams.ts';
export { fileReconciles as files } from '../subjects/files/seams.ts';
export { gcReconciles as gc } from '../subjects/gc/seams.ts';
export { hostReconciles as hosts } from '../subjects/hosts/seams.ts';
export { lockReconciles as locks } from '../subjects/locks/seams.ts';
export { nameReconciles as names } from '../subjects/names/seams.ts';
