import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { forEachLimited } from '../../lambda/core/rules/async.ts';
import { compareKeys } from '../../lambda/core/rules/names.ts';
import { type Check, check, fail, skipped, warning } from './check.ts';
import type { ListedKey, Probe } from './probe.ts';

const miscounted = "Don't use this store: usage would be wrong.";
const onlyOthers = "lfs-quota only writes ASCII keys. Don't write other names with other tools.";

/** Keys of the check of full pages: one more than a page has. */
const pageTestKeys = 1001;

/** ListObjectsV2, by which all usage is counted: which keys, in which order, from where, in which pages. */
export const listingChecks: readonly Check[] = [
  check('list-prefix', miscounted, async (probe) => {
    const fixture = await asciiFixture(probe);
    const { prefix, objects } = fixture;
    // A scan leaves out a key that comes again. So the answer itself is asked.
    const { Contents = [] } = await answerItself(probe);
    const more = Contents.length > objects.length ? 'it has a key twice' : undefined;
    const difference = differenceOf(fixture, (await probe.list({ prefix })).keys) ?? more;
    if (difference !== undefined) return fail(`A listing by prefix is wrong: ${difference}.`);
    const { keys } = await probe.list({ prefix: objects[0]?.key ?? '' });
    if (keys.length !== 1)
      return fail(`A listing with a whole key as prefix has ${keys.length} keys, not 1.`);
    return `A listing by prefix has exactly the ${objects.length} objects below it, with their sizes.`;
  }),
  check('list-order', miscounted, async (probe) => {
    const { prefix } = await asciiFixture(probe);
    const { keys } = await probe.list({ prefix });
    if (isSorted(keys)) return 'Keys are sorted by bytes: 0, 9, A, Z, _, a, z, ~.';
    return fail(`Keys aren't sorted by bytes: ${namesOf(keys, prefix)}.`);
  }),
  check('list-unicode', onlyOthers, async (probe) => {
    try {
      const fixture = await unicodeFixture(probe);
      const { keys } = await probe.list({ prefix: fixture.prefix });
      const difference = differenceOf(fixture, keys);
      if (difference !== undefined) return warning(`Non-ASCII names are listed wrong: ${difference}.`);
      if (isSorted(keys)) return 'Non-ASCII names, even beyond U+FFFF, are sorted by UTF-8.';
      const order = namesOf(keys, fixture.prefix);
      return warning(`Non-ASCII names aren't sorted by UTF-8: ${order}.`);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      return warning(`Non-ASCII names can't be written or listed: ${error.message}`);
    }
  }),
  check('list-start-after', miscounted, async (probe) => {
    const prefix = await letters(probe);
    for (const [from, expected, maxKeys] of [
      ['b', 'cd'],
      ['b0', 'cd'],
      ['b', 'c', 1],
      ['d', ''],
      ['', 'abcd'],
    ] as const) {
      const found = await lettersAfter(probe, prefix + from, maxKeys);
      if (found !== expected)
        return fail(
          `StartAfter "${from}" among the objects a, b, c, d gives "${found}" instead of "${expected}".`,
        );
    }
    return "StartAfter starts after the given key, even if it doesn't exist.";
  }),
  check('list-start-outside', "lfs-quota doesn't use this.", async (probe) => {
    const prefix = await letters(probe);
    const before = await lettersAfter(probe, prefix.slice(0, -2));
    const behind = await lettersAfter(probe, `${prefix.slice(0, -1)}~`);
    if (before === 'abcd' && behind === '') return 'StartAfter works before and after the prefix.';
    const gives = `gives "${before}" before it and "${behind}" behind it, not "abcd" and ""`;
    return warning(`StartAfter outside of the prefix ${gives}.`);
  }),
  check('list-folders', miscounted, async (probe) => {
    const prefix = `${probe.newKey()}/`;
    for (const name of ['one/1', 'one/2', 'one/deep/3', 'two/1', 'two-1', 'zz'])
      await probe.put(prefix + name, Buffer.from(name));
    const page = await probe.listFolders(prefix);
    const found = namesOf([...page.commonPrefixes.map((key) => ({ key })), ...page.keys], prefix);
    const expected = '"one/", "two/", "two-1", "zz"';
    if (found === expected)
      return 'A listing with Delimiter=/ has each folder once, and the objects next to them.';
    return fail(`A listing with Delimiter=/ gives ${found} instead of ${expected}.`);
  }),
  check('list-pages', miscounted, async (probe) => {
    const fixture = await asciiFixture(probe);
    const { pages, wrong } = await walk(probe, fixture, 3);
    if (wrong !== undefined) return fail(`Pages of three keys are wrong: ${wrong}.`);
    const count = fixture.objects.length;
    const needed = Math.ceil(count / 3);
    if (pages.length <= needed)
      return 'Pages follow each other by their tokens: each key once, each page full.';
    return warning(
      `${count} keys took ${pages.length} pages of three, not ${needed}: pages aren't full, or the last one is empty.`,
      'The totals are right, but need more LIST requests than elsewhere.',
    );
  }),
  check('list-unicode-pages', onlyOthers, async (probe) => {
    const fixture = await unicodeFixture(probe).catch(() => undefined);
    if (!fixture) return skipped("Non-ASCII names can't be written: see list-unicode.");
    const { wrong } = await walk(probe, fixture, 1);
    if (wrong === undefined) return 'Pages can end at non-ASCII names.';
    return warning(`Pages that end at non-ASCII names are wrong: ${wrong}.`);
  }),
  // XML cannot contain control characters, so a listing that is not encoded cannot name all keys.
  check(
    'list-encoding',
    "lfs-quota never writes such keys. Don't write them with other tools.",
    async (probe) => {
      const { EncodingType } = await answerItself(probe);
      if (EncodingType === 'url') return 'Listings are in URL encoding, so any key can be listed.';
      return warning("The store ignores EncodingType=url, so keys with control characters can't be listed.");
    },
  ),
  check('list-page-size', miscounted, async (probe) => {
    if (!probe.target.isThorough) return skipped('Needs 1,001 small objects: lfs-quota doctor --thorough.');
    const names = Array.from({ length: pageTestKeys }, (_, index) => String(index).padStart(4, '0'));
    const fixture = await write(probe, names);
    const pageKeys = (await probe.list({ prefix: fixture.prefix, maxKeys: 5000 })).keys.length;
    const { pages, wrong } = await walk(probe, fixture, 1000);
    if (wrong !== undefined) {
      const found = new Set(pages.flat().map(({ key }) => key)).size;
      return fail(`Of ${pageTestKeys} objects, all pages together list ${found}.`);
    }
    if (pageKeys === 1000) return 'A full page has 1,000 keys, and all pages have every key once.';
    return warning(
      `A full page has ${pageKeys} keys, not 1,000.`,
      'The totals are right. If pages are smaller, raise protocol.listRequestsPerHour in proportion.',
    );
  }),
];

interface Fixture {
  readonly prefix: string;
  /** In the order of their UTF-8 bytes. */
  readonly objects: readonly ListedKey[];
}

/** Names that orders, patterns and encodings could take for others, and a folder with a marker of its own. */
const asciiNames = [...'~ - 0 9 A B Z _ a a%20b a&b a+b b dir/ dir/sub/ dir/sub/x z'.split(' '), 'a b'];

/** Among them one beyond U+FFFF, which sorts by UTF-16 before U+FB01, and by UTF-8 after it. */
const otherNames = ['é', '日本', '\ufb01', '😀', 'a', 'z'];

/** Objects with ASCII names, once a run, and one beside them that has not all of the prefix. */
const asciiFixture = (probe: Probe) =>
  probe.once('ascii fixture', async () => {
    const fixture = await write(probe, asciiNames);
    await probe.put(`${fixture.prefix.slice(0, -1)}0`, Buffer.from('beside'));
    return fixture;
  });

/** A listing of them as the SDK reads it, once a run. */
const answerItself = (probe: Probe) =>
  probe.once('answer itself', async () => {
    const { prefix: Prefix } = await asciiFixture(probe);
    const input = { Bucket: probe.target.bucket, Prefix, EncodingType: 'url' } as const;
    return await probe.client.send(new ListObjectsV2Command(input));
  });

const unicodeFixture = (probe: Probe) => probe.once('unicode fixture', () => write(probe, otherNames));

/** Four objects `a` to `d`, once a run. */
const letters = (probe: Probe) => probe.once('letters', async () => (await write(probe, [...'abcd'])).prefix);

/** Objects below a new prefix, each with a size of its own. */
async function write(probe: Probe, names: readonly string[]): Promise<Fixture> {
  const prefix = `${probe.newKey()}/`;
  // Stores that keep files have no place for the bytes of a folder's marker.
  const sizeOf = (name: string, index: number) => (name.endsWith('/') ? 0 : index + 1);
  const objects = names.map((name, index) => ({ key: prefix + name, sizeBytes: sizeOf(name, index) }));
  let failed: unknown;
  // All that were begun end before anything else is done: one that arrived after the cleanup would stay.
  await forEachLimited(objects, 16, async ({ key, sizeBytes }) => {
    if (failed !== undefined) return;
    await probe.put(key, Buffer.alloc(sizeBytes, 'x')).catch((error: unknown) => {
      failed ??= error;
    });
  });
  if (failed !== undefined) throw failed;
  return { prefix, objects: objects.sort((a, b) => compareKeys(a.key, b.key)) };
}

/** The letters that a listing has after a key, as text. */
async function lettersAfter(probe: Probe, startAfter: string, maxKeys = 1000): Promise<string> {
  const prefix = await letters(probe);
  const { keys } = await probe.list({ prefix, startAfter, maxKeys });
  return keys.map(({ key }) => key.slice(prefix.length)).join('');
}

const isSorted = (keys: readonly ListedKey[]) =>
  keys.every(({ key }, index) => index === 0 || compareKeys(keys[index - 1]?.key ?? '', key) < 0);

/** What is missing, too much, or of the wrong size, whatever the order. */
function differenceOf({ prefix, objects }: Fixture, listed: readonly ListedKey[]): string | undefined {
  const sizes = new Map(listed.map(({ key, sizeBytes }) => [key, sizeBytes]));
  const missing = objects.filter(({ key }) => !sizes.has(key));
  if (missing.length > 0) return `it lacks ${namesOf(missing, prefix)}`;
  const foreign = listed.filter(({ key }) => !objects.some((own) => own.key === key));
  if (foreign.length > 0) return `it also has ${namesOf(foreign, prefix)}`;
  if (listed.length > objects.length) return 'it has a key twice';
  const wrong = objects.filter(({ key, sizeBytes }) => sizes.get(key) !== sizeBytes);
  return wrong.length > 0 ? `it has wrong sizes of ${namesOf(wrong, prefix)}` : undefined;
}

/**
 * All pages of the objects, and what is wrong about them.
 *
 * @throws {Error} when there are more pages than one for each key and two empty ones.
 */
async function walk(
  probe: Probe,
  { prefix, objects }: Fixture,
  maxKeys: number,
): Promise<{ pages: readonly ListedKey[][]; wrong: string | undefined }> {
  const count = objects.length;
  const { pages, isWhole } = await probe.listAll({ prefix, maxKeys }, count + 2);
  if (!isWhole)
    throw new Error(
      `After ${pages.length} pages of ${count} keys, the store still returns a token for another page.`,
    );
  const walked = pages.flat();
  const large = pages.find((page) => page.length > maxKeys);
  if (large) return { pages, wrong: `a page of MaxKeys ${maxKeys} has ${large.length} keys` };
  const seen = new Set(walked.map(({ key }) => key));
  const missing = objects.filter(({ key }) => !seen.has(key));
  if (missing.length > 0) return { pages, wrong: `the pages lack ${namesOf(missing, prefix)}` };
  const isMore = walked.length > count;
  return { pages, wrong: isMore ? `the pages have ${walked.length} keys, not ${count}` : undefined };
}

/** The names below a prefix, for a sentence. */
function namesOf(keys: readonly { key: string }[], prefix: string): string {
  const names = keys.map(({ key }) =>
    JSON.stringify(key.startsWith(prefix) ? key.slice(prefix.length) : key),
  );
  const shown = names.slice(0, 5).join(', ');
  return names.length > 5 ? `${shown}, and ${names.length - 5} more` : shown || 'nothing';
}
