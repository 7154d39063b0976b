/** What a subscription has beside what the ledger knows. */

export { outlookFields as history } from '../subjects/history/contract.ts';
