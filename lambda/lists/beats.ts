/** What the schedule does beside handing on tenants, by the name of its count in the log. */

export { deliverAlerts as alerts } from '../subjects/alerts/alerts.ts';
export { queueNotices as notices } from '../subjects/alerts/emails.ts';
export { wakeUploads as uploads } from '../subjects/chunks/wake.ts';
export { wakeExports as exports } from '../subjects/exports/start.ts';
