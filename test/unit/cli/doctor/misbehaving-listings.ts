import { compareKeys } from '../../../../lambda/core/rules/names.ts';
import { KeyIndex, listObjects } from '../../../../local/store/listing.ts';
import { errorReply, type Faults, type LyingStore } from '../../../support/lying-store.ts';
import { type Misbehaving, noKeys } from './examined.ts';

const isAscii = (key: string) => /^[\x20-\x7e]*$/.test(key);
const byUtf16 = (a: string, b: string) => (a < b ? -1 : Number(a > b));
const withoutCase = (a: string, b: string) =>
  compareKeys(a.toLowerCase(), b.toLowerCase()) || compareKeys(a, b);

interface ListingLie {
  readonly asks?: (query: Map<string, string>, store: LyingStore) => unknown;
  readonly answers?: (xml: string) => string;
}

/** A listing that answers another question than was asked, or whose answer is changed. */
function lists({ asks, answers = (xml) => xml }: ListingLie): Faults {
  /** The thousand objects of a thorough run, which would take seconds to store. */
  const thousand: Parameters<typeof listObjects>[0] = new KeyIndex();
  return {
    instead: async (request, store) => {
      if (request.method === 'PUT' && /\/\d{4}$/.test(request.key)) {
        thousand.set(request.key, { key: request.key, sizeBytes: 1, etag: '', lastModifiedMs: 0 });
        return { status: 200 };
      }
      if (!request.query.has('list-type')) return undefined;
      const query = new Map(request.query);
      asks?.(query, store);
      const isOfThousand = thousand.get(`${query.get('prefix')}0000`) !== undefined;
      const { status, body } = isOfThousand
        ? listObjects(thousand, { ...request, query })
        : await store.ask(request, { query });
      return { status, body: answers(String(body)) };
    },
  };
}

/** A listing whose entries are changed. */
const entries = (change: (all: readonly string[]) => readonly string[]): Faults =>
  lists({
    answers: (xml) => {
      const all = xml.match(/<Contents>.*?<\/Contents>/gs) ?? [];
      const changed = change(all);
      return xml
        .replace(all.join(''), () => changed.join(''))
        .replace(/(?<=<KeyCount>)\d+/, (count) => `${Number(count) - all.length + changed.length}`);
    },
  });

const keyIn = (entry: string) =>
  decodeURIComponent((/<Key>(.*?)<\/Key>/s.exec(entry)?.[1] ?? '').replaceAll('+', ' '));
const without = (loses: (key: string) => boolean) =>
  entries((all) => all.filter((entry) => !loses(keyIn(entry))));
const sortedBy = (compare: (a: string, b: string) => number) =>
  entries((all) => [...all].sort((a, b) => compare(keyIn(a), keyIn(b))));

/** The token of the page after a key. */
const tokenAfter = (key: string) => Buffer.from(`k${key}`).toString('base64url');
const keyOfToken = (token: string) => Buffer.from(token, 'base64url').subarray(1);

/** Another page follows. */
const goesOn = (xml: string, token: string) =>
  xml
    .replace(/<NextContinuationToken>.*?<\/NextContinuationToken>/, '')
    .replace(
      /<IsTruncated>.*?<\/IsTruncated>/,
      `<IsTruncated>true</IsTruncated><NextContinuationToken>${token}</NextContinuationToken>`,
    );

/** Just before a key, if something is there. */
const before = (key: string) =>
  `${key.slice(0, -1)}${String.fromCharCode(key.charCodeAt(key.length - 1) - 1)}\u{10ffff}`;

/** Stores that list wrong. */
export const misbehavingListings: readonly Misbehaving[] = [
  {
    name: 'loses a key',
    faults: without((key) => key.endsWith('/a+b')),
    found: { 'list-prefix': 'fail', 'list-pages': 'fail' },
    says: { 'list-prefix': /it lacks "a\+b"/, 'list-pages': /the pages lack "a\+b"/ },
  },
  {
    name: 'lists a key twice',
    faults: entries((all) =>
      all.flatMap((entry) => (keyIn(entry).endsWith('/a&b') ? [entry, entry] : entry)),
    ),
    // What comes again at once is counted once.
    found: { 'list-prefix': 'fail' },
    says: { 'list-prefix': /it has a key twice/ },
  },
  {
    name: 'tells wrong sizes',
    faults: lists({
      answers: (xml) => xml.replaceAll(/(?<=<Size>)\d+/g, (size) => `${Number(size) + 100}`),
    }),
    found: { 'list-prefix': 'fail', 'list-unicode': 'warning' },
    says: { 'list-prefix': /wrong sizes of "-", "0"/ },
  },
  {
    name: 'takes a prefix for a folder',
    faults: {
      instead: ({ key, query }) => {
        const prefix = query.get('prefix') ?? '';
        return key === '' && !prefix.endsWith('/') ? { status: 200, body: noKeys } : undefined;
      },
    },
    found: { 'list-prefix': 'fail' },
    says: { 'list-prefix': /with a whole key as prefix has 0 keys, not 1/ },
  },
  {
    name: 'sorts without regard to case',
    faults: sortedBy(withoutCase),
    found: { 'list-order': 'fail' },
    says: { 'list-order': /Keys aren't sorted by bytes: "-", "0", "9", "_", "A"/ },
  },
  {
    name: 'sorts by UTF-16',
    faults: sortedBy(byUtf16),
    found: { 'list-unicode': 'warning' },
    says: { 'list-unicode': /aren't sorted by UTF-8/ },
  },
  {
    name: 'does not list names that are not ASCII',
    faults: without((key) => !isAscii(key)),
    found: { 'list-unicode': 'warning', 'list-unicode-pages': 'warning' },
  },
  {
    name: 'takes no names that are not ASCII',
    faults: { instead: ({ key }) => (isAscii(key) ? undefined : errorReply(400, 'InvalidURI')) },
    found: { 'list-unicode': 'warning' },
    says: { 'list-unicode': /can't be written or listed: .*400 InvalidURI/ },
  },
  {
    name: 'ignores StartAfter',
    faults: lists({ asks: (query) => query.delete('start-after') }),
    found: { 'list-start-after': 'fail', 'list-start-outside': 'warning' },
    says: { 'list-start-after': /StartAfter "b" among the objects a, b, c, d gives "abcd" instead of "cd"/ },
  },
  {
    name: 'begins at StartAfter, not behind it',
    faults: lists({
      asks: (query) => {
        const key = query.get('start-after');
        if (key !== undefined) query.set('start-after', before(key));
      },
    }),
    found: { 'list-start-after': 'fail' },
    says: { 'list-start-after': /gives "bcd" instead of "cd"/ },
  },
  {
    name: 'begins only behind keys that exist',
    faults: lists({
      asks: (query, store) => {
        if (store.sizeOf(query.get('start-after') ?? '') === undefined) query.delete('start-after');
      },
    }),
    found: { 'list-start-after': 'fail', 'list-start-outside': 'warning' },
    says: { 'list-start-after': /StartAfter "b0" among/ },
  },
  {
    name: 'begins only below the prefix',
    faults: lists({
      asks: (query) => {
        if (!query.get('start-after')?.startsWith(query.get('prefix') ?? '')) query.delete('start-after');
      },
    }),
    found: { 'list-start-outside': 'warning' },
    says: { 'list-start-outside': /gives "abcd" before it and "abcd" behind it/ },
  },
  {
    name: 'knows no folders',
    faults: lists({ asks: (query) => query.delete('delimiter') }),
    found: { 'list-folders': 'fail' },
    says: { 'list-folders': /gives "one\/1", "one\/2", .* instead of "one\/"/ },
  },
  {
    name: 'ignores MaxKeys',
    faults: lists({ asks: (query) => query.delete('max-keys') }),
    found: { 'list-start-after': 'fail', 'list-pages': 'fail', 'list-unicode-pages': 'warning' },
    says: { 'list-pages': /a page of MaxKeys 3 has 18 keys/ },
  },
  {
    name: 'ends a listing with an empty page',
    faults: lists({
      answers: (xml) => {
        const last = xml.match(/<Contents>.*?<\/Contents>/gs)?.at(-1);
        if (last === undefined || xml.includes('<IsTruncated>true')) return xml;
        return goesOn(xml, tokenAfter(keyIn(last)));
      },
    }),
    found: { 'list-pages': 'warning' },
    says: { 'list-pages': /18 keys took 7 pages of three, not 6/ },
  },
  {
    name: 'leads back to the first page',
    faults: lists({
      asks: (query) => query.delete('continuation-token'),
      answers: (xml) => goesOn(xml, 'again'),
    }),
    found: { 'list-pages': 'fail', 'list-unicode-pages': 'warning' },
    says: { 'list-pages': /After 20 pages of 18 keys, the store still returns a token/ },
  },
  {
    name: 'breaks tokens that are not ASCII',
    faults: lists({
      asks: (query) => {
        const token = query.get('continuation-token');
        if (token === undefined) return;
        query.set('continuation-token', tokenAfter(keyOfToken(token).toString('latin1')));
      },
    }),
    found: { 'list-unicode-pages': 'warning' },
  },
  {
    name: 'ignores the encoding',
    faults: lists({ asks: (query) => query.delete('encoding-type') }),
    found: { 'list-encoding': 'warning' },
  },
  {
    name: 'has pages of 600 keys',
    faults: lists({
      asks: (query) => query.set('max-keys', String(Math.min(600, Number(query.get('max-keys') ?? 600)))),
    }),
    target: { isThorough: true },
    found: { 'list-page-size': 'warning' },
    says: { 'list-page-size': /A full page has 600 keys, not 1,000/ },
  },
  {
    name: 'loses keys of large folders',
    faults: without((key) => key.endsWith('/0777')),
    target: { isThorough: true },
    found: { 'list-page-size': 'fail' },
    says: { 'list-page-size': /Of 1001 objects, all pages together list 1000/ },
  },
];
