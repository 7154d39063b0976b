/** The queues of subjects: what is sent, how it waits, and what its jobs are done by. */

export { emails, webhooks } from './alerts/queues.ts';
export { chunks } from './chunks/queues.ts';
export { copies } from './downloads/lfs/queues.ts';
export { exports } from './exports/queues.ts';
