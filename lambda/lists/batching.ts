/** The same, and what batches were refused: one of each in a process. */

export { alertsOfBatches as alerts } from '../subjects/alerts/seams.ts';
export { historyOfBatches as history } from '../subjects/history/seams.ts';
