import * as stores from '../stores.ts';
import { alertsOfCounts } from '../subjects/alerts/seams.ts';
import { historyOfCounts } from '../subjects/history/seams.ts';
import { admin, bucketClient, heard, objectStore, queue, scanning, table } from './parts.ts';

export function subscriptionDeps() {
  const [tables, client] = [table(), bucketClient()];
  const deps = heard(tables);
  return {
    ...deps,
    ...scanning(client),
    store: objectStore(client),
    listeners: [historyOfCounts(deps), alertsOfCounts(deps)],
    publicReads: stores.publicReads(tables),
    tokens: stores.tokens(tables),
    admin: admin(),
    queue: queue(),
  };
}
