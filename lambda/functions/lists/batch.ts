/** What batches need beside the ledger, the store and logins. */

export { batchParts as downloads } from '../downloads/parts.ts';
