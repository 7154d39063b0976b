import { hashNames } from './round-listing.ts';

/** Names as people give them: buckets that are no store of hashes. */
interface BucketShape {
  readonly title: string;
  readonly names: () => string[];
}

const padded = (value: number, digits: number) => String(value).padStart(digits, '0');
const range = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
const inFolders = (folders: readonly string[], keysOf: (index: number) => number) =>
  folders.flatMap((folder, index) => range(keysOf(index), (i) => `${folder}/${padded(i, 6)}.jpg`));
const words =
  'archive assets backups billing builds cache catalog clients data docs downloads drafts emails events exports ' +
  'families fonts games icons images import invoices jobs keys letters logs maps media music news orders photos ' +
  'public reports scans static temp uploads users videos';

/** Date-named folders, from the first of January 2019 on, with this many keys a day. */
function days(count: number, keysADay: number): string[] {
  return range(count, (day) =>
    new Date(Date.UTC(2019, 0, 1) + day * 86_400_000).toISOString().slice(0, 10),
  ).flatMap((date) => range(keysADay, (i) => `logs/${date.replaceAll('-', '/')}/part-${padded(i, 5)}.gz`));
}

/** Ordinary buckets of some pages each. */
export const bucketShapes: readonly BucketShape[] = [
  { title: 'one key', names: () => ['readme.txt'] },
  {
    title: '1,000 keys in 10 folders',
    names: () =>
      inFolders(
        range(10, (i) => `f${i}`),
        () => 100,
      ),
  },
  { title: '1,001 keys in a folder', names: () => inFolders(['photos'], () => 1001) },
  { title: '2,000 keys in 2 folders', names: () => inFolders(['a', 'b'], () => 1000) },
  {
    title: '3 folders, 6,700 keys',
    names: () => inFolders(['alpha', 'beta', 'gamma'], (i) => [3000, 2200, 1500][i] ?? 0),
  },
  {
    title: '40 folders, 36,000 keys',
    names: () =>
      inFolders(
        range(40, (i) => `folder-${padded(i, 2)}`),
        () => 900,
      ),
  },
  {
    title: '40 folders named by words, 60,000 keys',
    names: () => inFolders(words.split(' '), (i) => 200 + ((i * 7919) % 2600)),
  },
  {
    title: '3,000 folders of 10 keys',
    names: () =>
      inFolders(
        range(3000, (i) => `user-${i}`),
        () => 10,
      ),
  },
  {
    title: '300 folders of 1,001 keys',
    names: () =>
      inFolders(
        range(300, (i) => `set-${padded(i, 4)}`),
        () => 1001,
      ),
  },
  {
    title: 'one huge folder between 40 tiny ones',
    names: () => inFolders(words.split(' '), (i) => (i === 20 ? 40_000 : 12)),
  },
  {
    title: 'a tree of 4 levels, 43,200 keys',
    names: () =>
      range(6, (a) =>
        range(8, (b) => range(9, (c) => range(100, (d) => `src/mod${a}/pkg${b}/v${c}/file${d}.bin`))),
      ).flat(3),
  },
  { title: 'folders by date, 2 years', names: () => days(730, 40) },
  { title: 'folders by date, 3 weeks of 1,440', names: () => days(21, 1440) },
  {
    title: 'a long common prefix',
    names: () =>
      range(
        25_000,
        (i) => `exports/customers/eu-central-1/production/v2/table=orders/part-${padded(i, 7)}.parquet`,
      ),
  },
  { title: 'numbers without zeros in front', names: () => range(30_000, (i) => String(i + 1)) },
  { title: 'numbers, padded, in a folder', names: () => range(5500, (i) => `photos/${padded(i, 8)}.jpg`) },
  { title: 'time stamps', names: () => range(20_000, (i) => `${1_700_000_000_000 + i * 61_337}.json`) },
  { title: 'numbers in hex', names: () => range(20_000, (i) => i.toString(16).padStart(16, '0')) },
  {
    title: 'hashes, then folders',
    names: () => [...hashNames(8000, 21), ...inFolders(['photos', 'videos', 'x'], () => 4000)],
  },
  {
    title: 'folders and hashes in folders',
    names: () => [
      ...inFolders(['a', 'b', 'c'], () => 1700),
      ...hashNames(9000, 22).map((name) => `lfs/${name}`),
      ...inFolders(['photos', 'videos'], () => 2600),
    ],
  },
  {
    title: '80 repos of 1,100 hashes',
    names: () =>
      range(80, (r) => hashNames(1100, 300 + r).map((n) => `t${r % 9}/repo-${padded(r, 3)}/${n}`)).flat(),
  },
  {
    title: '60 repos of 3,000 hashes',
    names: () =>
      range(60, (r) => hashNames(3000, 600 + r).map((n) => `t${r % 9}/repo-${padded(r, 3)}/${n}`)).flat(),
  },
  {
    title: 'hashes in 64 folders that repeat their digits',
    names: () =>
      hashNames(70_000, 23).map((n, i) => {
        const digits = '0123'.charAt(i % 4) + n.charAt(0);
        return `data/${digits}/${digits}${n.slice(2)}`;
      }),
  },
  {
    title: 'hashes in 2 levels of folders',
    names: () => hashNames(60_000, 24).map((n) => `lfs/${n.slice(0, 2)}/${n.slice(2, 4)}/${n.slice(4)}`),
  },
  {
    title: 'hashes that begin with the same digit',
    names: () => hashNames(30_000, 3).map((n) => `a${n.slice(1)}`),
  },
  {
    title: 'hashes in four dense spots',
    names: () =>
      hashNames(20_000, 4).map((n, i) => ['0000000', '4444444', '8888888', 'fffffff'][i % 4] + n.slice(7)),
  },
  {
    title: 'letters beyond ASCII',
    names: () => inFolders(['Zürich', 'a', 'é', 'ü', '写真', '日本', '😀', '\uffee'], (i) => 900 + 700 * i),
  },
  {
    title: 'numbers below letters beyond ASCII',
    names: () => range(12_000, (i) => `写真/${String.fromCodePoint(0x4e00 + (i % 3000))}-${i}`),
  },
  {
    title: 'UUIDs by time',
    names: () =>
      hashNames(18_000, 25).map(
        (n, i) =>
          `${(0x18f3a2b4c000 + i * 7001)
            .toString(16)
            .padStart(12, '0')
            .replace(/^(.{8})/, '$1-')}-7${n.slice(0, 3)}-${n.slice(3, 19)}`,
      ),
  },
  {
    title: 'words without order',
    names: () =>
      hashNames(25_000, 26).map((n) =>
        n.slice(0, 9).replace(/[0-9a-f]/g, (d) => 'etaoinshrdlucmfw'[Number.parseInt(d, 16)] ?? 'e'),
      ),
  },
];

/** Large buckets, of which a scan must list many pages at the same time. */
export const largeShapes: readonly BucketShape[] = [
  {
    title: '40 folders named by words, 400,000 keys',
    names: () => inFolders(words.split(' '), () => 10_000),
  },
  { title: 'folders by date, 3 years of 300 a day', names: () => days(1095, 300) },
  {
    title: 'one folder of 300,000 numbers',
    names: () => range(300_000, (i) => `img/IMG_${padded(i, 8)}.jpg`),
  },
  {
    title: '20,000 folders of 15 keys',
    names: () =>
      inFolders(
        range(20_000, (i) => `user-${i}`),
        () => 15,
      ),
  },
];
