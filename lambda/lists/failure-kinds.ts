/** What tells whether a failure is over. Of reconciles, the status knows it. */

export { exportFailures as exports } from '../subjects/exports/seams.ts';
