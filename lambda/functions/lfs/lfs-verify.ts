import { deployed } from '../../frame/aws/deployed.ts';
import { warmUpTable } from '../../frame/aws/function.ts';
import * as stores from '../../lists/stores.ts';
import { bucketClient, common, objectStore, queue, table } from '../../parts.ts';
import { create } from '../../subjects/lfs/verify.ts';

export function verifyDeps() {
  const store = objectStore(bucketClient());
  return { ...common(), ledger: stores.ledger(table()), store, queue: queue() };
}

export const handler = await deployed(create, verifyDeps, warmUpTable);
