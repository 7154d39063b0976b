import * as stores from '../stores.ts';
import { bucketClient, common, objectStore, queue, table } from './parts.ts';

export function verifyDeps() {
  const store = objectStore(bucketClient());
  return { ...common(), ledger: stores.ledger(table()), store, queue: queue() };
}
