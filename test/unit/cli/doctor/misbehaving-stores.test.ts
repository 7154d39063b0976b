import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  detailOf,
  examineFake,
  foundBesideParts,
  type Misbehaving,
  setCredentials,
  unsetCredentials,
} from './examined.ts';
import { misbehavingDeletes, misbehavingListings, misbehavingParts } from './misbehaving-listings.ts';
import { misbehavingUploads } from './misbehaving-uploads.ts';
import { misbehavingUrls } from './misbehaving-urls.ts';

/** Several run at a time. */
const timeoutMs = 120_000;
const tables = {
  misbehavingUploads,
  misbehavingUrls,
  misbehavingListings,
  misbehavingDeletes,
  misbehavingParts,
};

beforeAll(() => setCredentials());
afterAll(unsetCredentials);

describe.each(Object.entries(tables))('%s: a store that', (_, table) => {
  it.concurrent.each<Misbehaving>(table)('$name', { timeout: timeoutMs }, async (store) => {
    const examined = await examineFake(store.faults, store.target);
    expect(foundBesideParts(examined, store)).toEqual(store.found);
    for (const [id, pattern] of Object.entries(store.says ?? {}))
      expect(detailOf(examined, id)).toMatch(pattern);
  });
});

it('each check is failed by some store', async () => {
  const { results } = await examineFake({});
  const found = new Set(
    Object.values(tables).flatMap((table) => table.flatMap((store) => Object.keys(store.found))),
  );
  // There, either answer is fine; the tables read what the check says.
  const neverWrong = ['credentials', 'multipart-small'];
  expect(results.map(({ id }) => id).filter((id) => !found.has(id))).toEqual(neverWrong);
});
