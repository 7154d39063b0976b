/** What the schedule does beside handing on tenants, by the name of its count in the log. One that has several names them. */

export { alertBeat as alerts } from '../subjects/alerts/beat.ts';
export { wakeUploads as uploads } from '../subjects/chunks/wake.ts';
export { wakeExports as exports } from '../subjects/exports/start.ts';
