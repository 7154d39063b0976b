import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { type Check, type Finding, fail, pass, skip, warn } from './check.ts';
import { asciiFixture, type ListingFixture, namesOf, unicodeFixture, walk } from './listing-fixture.ts';
import { mapAtOnce } from './map-at-once.ts';
import type { ListedKeys, Probe } from './probe.ts';

/** ListObjectsV2 in pages. */
export const pageChecks: readonly Check[] = [
  { id: 'list-pages', run: walkPages },
  { id: 'list-unicode-pages', isOptional: true, run: walkUnicodePages },
  { id: 'list-encoding', run: readEncoding },
  { id: 'list-page-size', run: measurePage },
];

const advice = 'Do not use this store: usage would be counted wrong.';

/** What is wrong about the pages of a walk. */
function wrongIn(
  pages: readonly ListedKeys['keys'][],
  { fixture, maxKeys }: { fixture: ListingFixture; maxKeys: number },
): string | undefined {
  const { prefix, objects } = fixture;
  const large = pages.find((page) => page.length > maxKeys);
  if (large !== undefined) return `a page of MaxKeys ${maxKeys} has ${large.length} keys`;
  const walked = pages.flatMap((page) => page.map(({ key }) => key));
  const seen = new Set(walked);
  const missing = objects.map(({ key }) => key).filter((key) => !seen.has(key));
  if (missing.length > 0) return `the pages lack ${namesOf(missing, prefix)}`;
  return walked.length > objects.length
    ? `the pages have ${walked.length} keys, not ${objects.length}`
    : undefined;
}

async function walkPages(probe: Probe): Promise<Finding> {
  const fixture = await asciiFixture(probe);
  const [maxKeys, keysMax] = [3, fixture.objects.length];
  const pages = await walk(probe, { prefix: fixture.prefix, maxKeys, keysMax });
  const wrong = wrongIn(pages, { fixture, maxKeys });
  if (wrong !== undefined) return fail(`Pages of three keys are wrong: ${wrong}.`, advice);
  const needed = Math.ceil(keysMax / maxKeys);
  if (pages.length > needed) {
    return warn(
      `${keysMax} keys took ${pages.length} pages of three, not ${needed}: pages are not full, or the last one is empty.`,
      'The counts are right, but need more LIST requests than elsewhere.',
    );
  }
  return pass('Pages follow each other by their tokens: each key once, each page full.');
}

async function walkUnicodePages(probe: Probe): Promise<Finding> {
  const others =
    'The service itself writes ASCII keys only. Do not let other tools write other names into this bucket.';
  let fixture: ListingFixture;
  try {
    fixture = await unicodeFixture(probe);
  } catch {
    return skip('Names that are not ASCII cannot be written: see list-unicode.');
  }
  const [maxKeys, keysMax] = [1, fixture.objects.length];
  const pages = await walk(probe, { prefix: fixture.prefix, maxKeys, keysMax });
  const wrong = wrongIn(pages, { fixture, maxKeys });
  if (wrong !== undefined)
    return warn(`Pages that end at names which are not ASCII are wrong: ${wrong}.`, others);
  return pass('Pages may end at names that are not ASCII.');
}

/** XML cannot contain control characters, so a listing that is not encoded cannot name all keys. */
async function readEncoding(probe: Probe): Promise<Finding> {
  const { prefix } = await asciiFixture(probe);
  const { bucket } = probe.target;
  const input = { Bucket: bucket, Prefix: prefix, EncodingType: 'url' as const };
  const { EncodingType } = await probe.send((client) => client.send(new ListObjectsV2Command(input)));
  if (EncodingType === 'url') return pass('Listings are in URL encoding, so any key can be listed.');
  return warn(
    'The store ignores EncodingType=url, so keys with control characters cannot be listed.',
    'The service itself writes no such keys. Do not let other tools write them into this bucket.',
  );
}

async function measurePage(probe: Probe): Promise<Finding> {
  if (!probe.target.isThorough) return skip('Needs 1,001 small objects: give --thorough.');
  const prefix = `${probe.newKey()}/`;
  const count = 1001;
  const keys = Array.from({ length: count }, (_, index) => prefix + String(index).padStart(4, '0'));
  await mapAtOnce(keys, (key) => probe.put(key, Buffer.from('x')));
  const page = await probe.list({ prefix, maxKeys: 5000 });
  const pages = await walk(probe, { prefix, maxKeys: 1000, keysMax: count });
  const found = new Set(pages.flatMap((each) => each.map(({ key }) => key)));
  const pageKeys = page.keys.length;
  if (found.size !== count || pages.flat().length !== count)
    return fail(`Of ${count} objects, all pages together list ${found.size}.`, advice, { pageKeys });
  if (pageKeys === 1000)
    return pass('A full page has 1,000 keys, and all pages have every key once.', { pageKeys });
  return warn(
    `A full page has ${pageKeys} keys, not 1,000.`,
    pageKeys < 1000
      ? 'The counts are right, but need more LIST requests. Raise protocol.listRequestsPerHour in proportion.'
      : 'The counts are right. Nothing has to be done.',
    { pageKeys },
  );
}
