/** What is told of what the ledger did, and asked whether something of a repo or a tenant is left: one of each in a process. */

export { alertListener as alerts } from '../subjects/alerts/seams.ts';
export { historyListener as history } from '../subjects/history/seams.ts';
