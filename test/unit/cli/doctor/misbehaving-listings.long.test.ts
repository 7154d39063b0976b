import { afterAll, beforeAll, expect, it } from 'vitest';
import { examineStore, setCredentials, testStores, unsetCredentials } from './examined.ts';
import { misbehavingDeletes } from './misbehaving-deletes.ts';
import { misbehavingFiles } from './misbehaving-files.ts';
import { misbehavingListings } from './misbehaving-listings.ts';
import { misbehavingParts } from './misbehaving-parts.ts';
import { misbehavingUploads } from './misbehaving-uploads.ts';
import { misbehavingUrls } from './misbehaving-urls.ts';

beforeAll(() => setCredentials());
afterAll(unsetCredentials);

testStores('listings', misbehavingListings);
testStores('consistency', misbehavingDeletes);
testStores('large', misbehavingParts);

it('each check is failed by some store', async () => {
  const { results } = await examineStore();
  const all = [
    ...misbehavingUploads,
    ...misbehavingUrls,
    ...misbehavingListings,
    ...misbehavingDeletes,
    ...misbehavingParts,
    ...misbehavingFiles,
  ];
  const found = new Set(all.flatMap((store) => Object.keys(store.found)));
  // The command's own test has no credentials. Small parts may be taken or refused: both is fine. Pages have tests of their own.
  expect(results.map(({ id }) => id).filter((id) => !found.has(id))).toEqual([
    'credentials',
    'multipart-small',
    'cross-origin',
  ]);
});
