/** What else a reconcile asks whether something of a repo or a tenant is left. */

export { publicBelongings as downloads } from '../subjects/downloads/seams.ts';
export { gcBelongings as gc } from '../subjects/gc/seams.ts';
export { hostBelongings as hosts } from '../subjects/hosts/seams.ts';
export { lockBelongings as locks } from '../subjects/locks/seams.ts';
