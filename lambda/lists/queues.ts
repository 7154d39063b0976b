/** The queues that subjects send to from several functions: the port → the kind in their specs. */

export { alertQueues as alerts } from '../subjects/alerts/queues.ts';
export { chunkQueues as chunks } from '../subjects/chunks/queues.ts';
export { exportQueues as exports } from '../subjects/exports/queues.ts';
