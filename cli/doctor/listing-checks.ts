import { compareKeys } from '../../lambda/domain/key-order.ts';
import { type Check, type Finding, fail, pass, warn } from './check.ts';
import { asciiFixture, type ListingFixture, namesOf, unicodeFixture } from './listing-fixture.ts';
import type { Probe } from './probe.ts';

/** ListObjectsV2, by which all usage is counted: which keys, in which order, from where. */
export const listingChecks: readonly Check[] = [
  { id: 'list-prefix', run: listPrefix },
  { id: 'list-order', run: compareOrder },
  { id: 'list-unicode', run: listUnicode },
  { id: 'list-start-after', run: startAfterInside },
  { id: 'list-start-outside', run: startAfterOutside },
  { id: 'list-folders', run: listFolders },
];

const advice = 'Do not use this store: usage would be counted wrong.';
const onlyOthers =
  'The service itself writes ASCII keys only. Do not let other tools write other names into this bucket.';

async function listPrefix(probe: Probe): Promise<Finding> {
  const fixture = await asciiFixture(probe);
  const { prefix, objects } = fixture;
  const { keys } = await probe.list({ prefix });
  const difference = differenceOf(fixture, keys);
  if (difference !== undefined) return fail(`A listing by prefix is wrong: ${difference}.`, advice);
  const [first] = objects;
  const one = await probe.list({ prefix: first?.key ?? '' });
  if (one.keys.length !== 1)
    return fail(`A listing with a whole key as prefix has ${one.keys.length} keys, not 1.`, advice);
  return pass(`A listing by prefix has exactly the ${objects.length} objects below it, with their sizes.`);
}

/** What is missing, too much, or of the wrong size, whatever the order. */
function differenceOf(
  { prefix, objects }: ListingFixture,
  listed: readonly { key: string; sizeBytes: number }[],
): string | undefined {
  const sizes = new Map(listed.map(({ key, sizeBytes }) => [key, sizeBytes]));
  const missing = objects.filter(({ key }) => !sizes.has(key)).map(({ key }) => key);
  if (missing.length > 0) return `it lacks ${namesOf(missing, prefix)}`;
  if (listed.length > objects.length) {
    const own = new Set(objects.map(({ key }) => key));
    const foreign = listed.map(({ key }) => key).filter((key) => !own.has(key));
    return foreign.length > 0 ? `it also has ${namesOf(foreign, prefix)}` : 'it has a key twice';
  }
  const wrong = objects.filter(({ key, sizeBytes }) => sizes.get(key) !== sizeBytes).map(({ key }) => key);
  return wrong.length > 0 ? `it has wrong sizes of ${namesOf(wrong, prefix)}` : undefined;
}

const isSorted = (keys: readonly string[]) =>
  keys.every((key, index) => index === 0 || compareKeys(keys[index - 1] ?? '', key) < 0);

async function compareOrder(probe: Probe): Promise<Finding> {
  const { prefix } = await asciiFixture(probe);
  const keys = (await probe.list({ prefix })).keys.map(({ key }) => key);
  if (isSorted(keys)) return pass('Keys come in the order of their bytes: 0, 9, A, Z, _, a, z, ~.');
  return fail(`Keys do not come in the order of their bytes: ${namesOf(keys, prefix)}.`, advice, {
    listOrder: 'other',
  });
}

async function listUnicode(probe: Probe): Promise<Finding> {
  const ascii = (await probe.list({ prefix: (await asciiFixture(probe)).prefix })).keys;
  const isAsciiSorted = isSorted(ascii.map(({ key }) => key));
  const facts = { listOrder: isAsciiSorted ? ('ascii' as const) : ('other' as const) };
  try {
    const fixture = await unicodeFixture(probe);
    const { keys } = await probe.list({ prefix: fixture.prefix });
    const difference = differenceOf(fixture, keys);
    if (difference !== undefined)
      return warn(`Names that are not ASCII are listed wrong: ${difference}.`, onlyOthers, facts);
    const names = keys.map(({ key }) => key);
    if (!isSorted(names)) {
      const order = namesOf(names, fixture.prefix);
      return warn(
        `Names that are not ASCII are not in the order of their UTF-8: ${order}.`,
        onlyOthers,
        facts,
      );
    }
    return pass(
      'Names that are not ASCII, even beyond U+FFFF, are listed in the order of their UTF-8.',
      isAsciiSorted ? { listOrder: 'utf8' } : facts,
    );
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return warn(`Names that are not ASCII cannot be written or listed: ${error.message}`, onlyOthers, facts);
  }
}

/** Four objects `a` to `d`, once a run. */
function letters(probe: Probe): Promise<string> {
  return probe.once('letters', async () => {
    const prefix = `${probe.newKey()}/`;
    for (const letter of 'abcd') await probe.put(prefix + letter, Buffer.from(letter));
    return prefix;
  });
}

/** The letters that a listing has after a key, as text. */
async function after(probe: Probe, startAfter: string, maxKeys?: number): Promise<string> {
  const prefix = await letters(probe);
  const { keys } = await probe.list({ prefix, startAfter, ...(maxKeys !== undefined && { maxKeys }) });
  return keys.map(({ key }) => key.slice(prefix.length)).join('');
}

/** What StartAfter does wrong below the prefix; asked once a run. */
function wrongInside(probe: Probe): Promise<string | undefined> {
  return probe.once('start after', async () => {
    const prefix = await letters(probe);
    for (const [from, expected, maxKeys] of [
      ['b', 'cd'],
      ['b0', 'cd'],
      ['b', 'c', 1],
      ['d', ''],
      ['', 'abcd'],
    ] as const) {
      const found = await after(probe, prefix + from, maxKeys);
      if (found !== expected)
        return `StartAfter "${from}" among the objects a, b, c, d gives "${found}" instead of "${expected}"`;
    }
    return undefined;
  });
}

async function startAfterInside(probe: Probe): Promise<Finding> {
  const wrong = await wrongInside(probe);
  if (wrong !== undefined) return fail(`${wrong}.`, advice, { startAfter: 'wrong' });
  return pass('StartAfter begins behind the given key, whether that key exists or not.', {
    startAfter: 'inside-prefix',
  });
}

/** No request of the service begins outside of its prefix. */
async function startAfterOutside(probe: Probe): Promise<Finding> {
  const prefix = await letters(probe);
  const before = await after(probe, prefix.slice(0, -2));
  const behind = await after(probe, `${prefix.slice(0, -1)}~`);
  if (before !== 'abcd' || behind !== '') {
    return warn(
      `StartAfter outside of the prefix gives "${before}" before it and "${behind}" behind it, not "abcd" and "".`,
      'The service never asks so, and works.',
    );
  }
  const isWrong = (await wrongInside(probe)) !== undefined;
  return pass(
    'StartAfter works before and behind the prefix as well.',
    isWrong ? {} : { startAfter: 'exact' },
  );
}

async function listFolders(probe: Probe): Promise<Finding> {
  const prefix = `${probe.newKey()}/`;
  for (const name of ['one/1', 'one/2', 'one/deep/3', 'two/1', 'two-1', 'zz'])
    await probe.put(prefix + name, Buffer.from(name));
  const page = await probe.listFolders(prefix);
  const found = [...page.commonPrefixes, ...page.keys.map(({ key }) => key)];
  const expected = ['one/', 'two/', 'two-1', 'zz'].map((name) => prefix + name);
  if (found.join('\n') !== expected.join('\n')) {
    const instead = `${namesOf(found, prefix)} instead of ${namesOf(expected, prefix)}`;
    return fail(`A listing with Delimiter=/ gives ${instead}.`, advice);
  }
  return pass('A listing with Delimiter=/ has each folder once, and the objects beside them.');
}
