import { ScanListing } from '../../core/scan/list-objects.ts';
import { adoptedListing } from '../../core/store/adopted.ts';
import { deployed } from '../../frame/aws/deployed.ts';
import * as stores from '../../lists/stores.ts';
import { adoptedRepos, bucketClient, bucketPlace, common, jobQueue, table, urlSigner } from '../../parts.ts';
import { create } from '../../subjects/chunks/lfs-handler.ts';
import { chunkedUploads } from '../../subjects/chunks/stores.ts';

export function chunksDeps() {
  const [tables, place] = [table(), bucketPlace()];
  return {
    ...common(),
    ledger: stores.ledger(tables),
    chunkedUploads: chunkedUploads(tables),
    chunkQueue: jobQueue('Chunk'),
    tokens: stores.tokens(tables),
    listing: adoptedListing(new ScanListing({ client: bucketClient(place) }), adoptedRepos()),
    signer: urlSigner(place),
  };
}

export const handler = await deployed(create, chunksDeps);
