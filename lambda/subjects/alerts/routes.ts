import { emailLinkOperations, emailOperations } from './email-routes.ts';
import { webhookOperations } from './webhook-routes.ts';

export const alertOperations = { ...emailLinkOperations, ...emailOperations, ...webhookOperations };
