/** What is said of a tenant in its subscription beside what the ledger knows. */

export { outlookPart as history } from '../subjects/history/routes.ts';
