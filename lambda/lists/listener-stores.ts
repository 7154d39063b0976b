/** What the table keeps of each of `listeners.ts`. */

export { alertStores as alerts } from '../subjects/alerts/stores.ts';
export { historyStores as history } from '../subjects/history/stores.ts';
