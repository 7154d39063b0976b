import type { FunctionPorts } from '../../core/rules/clock-and-log.ts';
import { allOf, allThose, each, type Those, those } from '../../core/rules/lists.ts';
import type { NeedsOfAll } from '../../core/rules/types.ts';
import { KnownObjects, ListingPace } from '../../core/scan/rules/known-objects.ts';
import { adoptedSigner } from '../../core/store/adopted.ts';
import type { S3Settings } from '../../core/store/bucket-client.ts';
import { cdnSigner } from '../../core/store/cdn.ts';
import { privateKeyIn } from '../../core/store/rules/cdn-keys.ts';
import { createUrlSigner } from '../../core/store/signing.ts';
import { storesOf } from '../../core/table/stores.ts';
import { deployed } from '../../frame/aws/deployed.ts';
import { guard, type HttpHandler, warmUpTableAndScan, withMetrics } from '../../frame/aws/function.ts';
import { createSecret } from '../../frame/aws/secrets.ts';
import * as batches from '../../lists/batches.ts';
import * as stores from '../../lists/stores.ts';
import {
  adoptedRepos,
  bucketClient,
  bucketPlace,
  heard,
  jobQueues,
  objectStore,
  optional,
  publicUrl,
  queue,
  required,
  scanning,
  secret,
  storageClasses,
  table,
  urlSigner,
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

/** Signs objects for the stage's CDN, if it has one. */
function objectSigner(place: S3Settings) {
  const url = optional('LFS_QUOTA_CDN_URL');
  if (url === undefined) return urlSigner(place);
  const publicKey = required('LFS_QUOTA_CDN_PUBLIC_KEY');
  const key = createSecret(secret(required('LFS_QUOTA_CDN_SECRET_ARN')), (pem) =>
    privateKeyIn(pem, publicKey),
  );
  const cdn = { url, keyId: required('LFS_QUOTA_CDN_KEY_ID'), key };
  return adoptedSigner(cdnSigner(createUrlSigner(place), cdn), adoptedRepos());
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
