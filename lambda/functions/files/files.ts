import { allThose, each, those } from '../../core/rules/lists.ts';
import { KnownObjects, ListingPace } from '../../core/scan/rules/known-objects.ts';
import { createMultiparts } from '../../core/store/multiparts.ts';
import { storesOf } from '../../core/table/stores.ts';
import { deployed } from '../../frame/aws/deployed.ts';
import { warmUpTableAndScan } from '../../frame/aws/function.ts';
import * as meters from '../../lists/meters.ts';
import * as stores from '../../lists/stores.ts';
import {
  admin,
  bucketClient,
  bucketPlace,
  heard,
  objectStore,
  queue,
  scanning,
  storageClasses,
  table,
  urlSigner,
} from '../../parts.ts';
import { create } from '../../subjects/files/handler.ts';
import { partUploads } from '../../subjects/files/stores.ts';
import { listenersOf } from '../../subjects.ts';

export function filesDeps() {
  const [tables, place] = [table(), bucketPlace()];
  const client = bucketClient(place);
  const deps = { ...heard(tables), ...storesOf(allThose(meters, 'stores'), tables) };
  return {
    ...deps,
    ...scanning(client),
    listingPace: new ListingPace(),
    knownObjects: new KnownObjects(),
    listeners: listenersOf(deps),
    meters: each(those(meters, 'meter'), deps),
    partUploads: partUploads(tables),
    archives: createMultiparts({ client }),
    // S3 keeps it.
    ...(place.endpoint === undefined && { provesParts: async () => true }),
    tokens: stores.tokens(tables),
    audit: stores.audit(tables),
    requestKeys: stores.requestKeys(tables),
    admin: admin(),
    store: objectStore(client),
    signer: urlSigner(place),
    storageClasses: storageClasses(),
    queue: queue(),
  };
}

export const handler = await deployed(create, filesDeps, warmUpTableAndScan);
