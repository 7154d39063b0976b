/** What makes the handlers of what waits, by function. */

export { create as reconcile } from '../lambda/frame/work/reconcile.ts';
export { create as refresh } from '../lambda/functions/refresh.ts';
export { create as sendEmail } from '../lambda/subjects/alerts/email-handler.ts';
export { create as sendWebhook } from '../lambda/subjects/alerts/webhook-handler.ts';
export { create as assembleUpload } from '../lambda/subjects/chunks/assemble-handler.ts';
export { create as copyObject } from '../lambda/subjects/downloads/copy-handler.ts';
export { create as exportArchive } from '../lambda/subjects/exports/handler.ts';
