import { alertsOfBatches } from '../alerts/seams.ts';
import { createSecret } from '../aws/secrets.ts';
import { chunkedWay } from '../chunks/seams.ts';
import type { CopyMessage } from '../downloads/messages.ts';
import { historyOfBatches } from '../history/seams.ts';
import { publicByHost } from '../hosts/seams.ts';
import { KnownObjects, ListingPace } from '../scan/rules/known-objects.ts';
import { adoptedSigner } from '../store/adopted.ts';
import type { S3Settings } from '../store/bucket-client.ts';
import { cdnSigner } from '../store/cdn.ts';
import { privateKeyIn } from '../store/rules/cdn-keys.ts';
import { createUrlSigner } from '../store/signing.ts';
import * as stores from '../stores.ts';
import {
  adoptedRepos,
  bucketClient,
  bucketPlace,
  heard,
  hostUsers,
  objectStore,
  optional,
  optionalQueue,
  publicUrl,
  queue,
  required,
  scanning,
  secret,
  storageClasses,
  table,
  urlSigner,
} from './parts.ts';

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
  const hosts = hostUsers(tables);
  return {
    ...deps,
    publicUrl: publicUrl(),
    ...scanning(client),
    listingPace: new ListingPace(),
    knownObjects: new KnownObjects(),
    listeners: [historyOfBatches(deps), alertsOfBatches(deps)],
    way: chunkedWay({ ...deps, chunkedUploads: stores.chunkedUploads(tables) }),
    downloads: stores.downloads(tables),
    publicReads: stores.publicReads(tables),
    tokens: stores.tokens(tables),
    ...hosts,
    publicWays: [publicByHost({ ...deps, ...hosts })],
    store: objectStore(client),
    signer: objectSigner(place),
    storageClasses: storageClasses(),
    queue: queue(),
    copies: stores.copies(tables),
    copyQueue: optionalQueue<CopyMessage>('LFS_QUOTA_COPY_QUEUE_URL'),
  };
}
