import type { FunctionPorts } from '../../core/rules/clock-and-log.ts';
import { allOf, allThose, each, type Those, those } from '../../core/rules/lists.ts';
import type { NeedsOfAll } from '../../core/rules/types.ts';
import { KnownObjects, ListingPace } from '../../core/scan/rules/known-objects.ts';
import { storesOf } from '../../core/table/stores.ts';
import { deployed } from '../../frame/aws/deployed.ts';
import { guard, type HttpHandler, warmUpTableAndScan, withMetrics } from '../../frame/aws/function.ts';
import * as batches from '../../lists/batches.ts';
import * as stores from '../../lists/stores.ts';
import {
  bucketClient,
  bucketPlace,
  heard,
  jobQueues,
  objectSigner,
  objectStore,
  publicUrl,
  queue,
  scanning,
  storageClasses,
  table,
} from '../../parts.ts';
import { type LfsAccessDeps, lfsLogin } from '../../subjects/lfs/access.ts';
import { type BatchDeps, lfsBatch } from '../../subjects/lfs/batch-routes.ts';
import { respondLfsError } from '../../subjects/lfs/http.ts';
import { byRoute } from '../../subjects/lfs/operations.ts';
import { batchSeamsOf, listenersOf, wayOf } from '../../subjects.ts';
import * as loginParts from '../needs/logins.ts';

/** The LFS Batch API, and what subjects answer beside it. */
export function create(
  deps: BatchDeps &
    Omit<NeedsOfAll<Those<typeof batches, 'operations'>>, 'login'> &
    Omit<LfsAccessDeps, 'rejectedLogins'> &
    FunctionPorts,
): HttpHandler {
  const login = lfsLogin(deps);
  const answer = byRoute(lfsBatch(deps, login), ...each(those(batches, 'operations'), { ...deps, login }));
  return guard(deps, respondLfsError, withMetrics(deps.metrics, answer));
}

export function batchDeps() {
  const [tables, place] = [table(), bucketPlace()];
  const client = bucketClient(place);
  const deps = heard(tables);
  const own = storesOf(allThose(batches, 'stores'), tables);
  const all = {
    ...deps,
    ...allOf(loginParts, tables),
    ...own,
    publicUrl: publicUrl(),
    ...scanning(client),
    listingPace: new ListingPace(),
    knownObjects: new KnownObjects(),
    listeners: listenersOf(deps),
    way: wayOf({ ...deps, ...own }),
    tokens: stores.tokens(tables),
    store: objectStore(client),
    signer: objectSigner(place),
    storageClasses: storageClasses(),
    queue: queue(),
    ...jobQueues(),
    ...jobQueues(allThose(batches, 'queues')),
  };
  return { ...all, ...batchSeamsOf(all) };
}

export const handler = await deployed(create, batchDeps, warmUpTableAndScan);
