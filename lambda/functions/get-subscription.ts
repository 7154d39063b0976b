import { each } from '../core/rules/lists.ts';
import { deployed } from '../frame/aws/deployed.ts';
import { warmUpTableAndScan } from '../frame/aws/function.ts';
import { create } from '../frame/management/get-subscription.ts';
import * as stores from '../lists/stores.ts';
import * as subscriptionParts from '../lists/subscription-parts.ts';
import { admin, bucketClient, heard, objectStore, queue, scanning, table } from '../parts.ts';
import { listenersOf } from '../subjects.ts';
import * as repoParts from './needs/subscription.ts';

export function subscriptionDeps() {
  const [tables, client] = [table(), bucketClient()];
  const deps = { ...heard(tables), ...scanning(client) };
  return {
    ...deps,
    store: objectStore(client),
    listeners: listenersOf(deps),
    repoParts: each(repoParts, { ...deps, tables }),
    subscriptionParts: each(subscriptionParts, deps),
    tokens: stores.tokens(tables),
    admin: admin(),
    queue: queue(),
  };
}

export const handler = await deployed(create, subscriptionDeps, warmUpTableAndScan);
