/** What a reconcile asks whether something of a repo or a tenant is left. */

export { alertBelongings as alerts } from '../subjects/alerts/seams.ts';
export { publicBelongings as downloads } from '../subjects/downloads/seams.ts';
export { gcBelongings as gc } from '../subjects/gc/seams.ts';
export { historyBelongings as history } from '../subjects/history/seams.ts';
export { hostBelongings as hosts } from '../subjects/hosts/seams.ts';
export { lockBelongings as locks } from '../subjects/locks/seams.ts';
