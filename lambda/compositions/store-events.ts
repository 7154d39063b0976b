import * as stores from '../stores.ts';
import { adoptedRepos, common, queue, table } from './parts.ts';

export function storeEventsDeps() {
  return { ...common(), adoptedRepos: adoptedRepos(), ledger: stores.ledger(table()), queue: queue() };
}
