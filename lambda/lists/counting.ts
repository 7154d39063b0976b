/** What is told of counts. */

export { alertsOfCounts as alerts } from '../subjects/alerts/seams.ts';
export { historyOfCounts as history } from '../subjects/history/seams.ts';
