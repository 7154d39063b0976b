import { deployed } from '../frame/aws/deployed.ts';
import { create } from '../frame/work/store-events.ts';
import * as stores from '../lists/stores.ts';
import { adoptedRepos, common, queue, table } from '../parts.ts';

export function storeEventsDeps() {
  return { ...common(), adoptedRepos: adoptedRepos(), ledger: stores.ledger(table()), queue: queue() };
}

export const handler = await deployed(create, storeEventsDeps);
