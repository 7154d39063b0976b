import { compareKeys } from '../../../../lambda/domain/key-order.ts';
import { errorReply } from '../../../support/fake-s3/reply.ts';
import { type Misbehaving, noKeys } from './examined.ts';

const isAscii = (key: string) => /^[\x20-\x7e]*$/.test(key);
const byUtf16 = (a: string, b: string) => (a < b ? -1 : Number(a > b));
const withoutCase = (a: string, b: string) =>
  compareKeys(a.toLowerCase(), b.toLowerCase()) || compareKeys(a, b);

/** Stores that list wrong. */
export const misbehavingListings: readonly Misbehaving[] = [
  {
    name: 'loses a key',
    faults: { list: { loses: (key) => key.endsWith('/a+b') } },
    found: { 'list-prefix': 'fail', 'list-pages': 'fail' },
    says: { 'list-prefix': /it lacks "a\+b"/, 'list-pages': /the pages lack "a\+b"/ },
  },
  {
    name: 'lists a key twice',
    faults: { list: { repeats: (key) => key.endsWith('/a&b') } },
    found: { 'list-prefix': 'fail', 'list-order': 'fail', 'list-pages': 'fail' },
    says: { 'list-prefix': /it has a key twice/ },
  },
  {
    name: 'tells wrong sizes',
    faults: { list: { sizeOf: ({ body }) => body.length + 100 } },
    found: { 'list-prefix': 'fail', 'list-unicode': 'warning' },
    says: { 'list-prefix': /wrong sizes of "-", "0"/ },
  },
  {
    name: 'takes a prefix for a folder',
    faults: {
      instead: ({ key, query }) => {
        const prefix = query.get('prefix') ?? '';
        return key === '' && !prefix.endsWith('/') ? { status: 200, body: Buffer.from(noKeys) } : undefined;
      },
    },
    found: { 'list-prefix': 'fail' },
    says: { 'list-prefix': /with a whole key as prefix has 0 keys, not 1/ },
  },
  {
    name: 'sorts without regard to case',
    faults: { list: { compare: withoutCase } },
    found: { 'list-order': 'fail' },
    says: { 'list-order': /not come in the order of their bytes: "-", "0", "9", "_", "A"/ },
  },
  {
    name: 'sorts by UTF-16',
    faults: { list: { compare: byUtf16 } },
    found: { 'list-unicode': 'warning' },
    says: { 'list-unicode': /not in the order of their UTF-8/ },
  },
  {
    name: 'does not list names that are not ASCII',
    faults: { list: { loses: (key) => !isAscii(key) } },
    found: { 'list-unicode': 'warning', 'list-unicode-pages': 'warning' },
  },
  {
    name: 'takes no names that are not ASCII',
    faults: { instead: ({ key }) => (isAscii(key) ? undefined : errorReply(400, 'InvalidURI')) },
    found: { 'list-unicode': 'warning' },
    says: { 'list-unicode': /cannot be written or listed: .*400 InvalidURI/ },
  },
  {
    name: 'ignores StartAfter',
    faults: { list: { startAfter: 'ignored' } },
    found: { 'list-start-after': 'fail', 'list-start-outside': 'warning' },
    says: { 'list-start-after': /StartAfter "b" among the objects a, b, c, d gives "abcd" instead of "cd"/ },
  },
  {
    name: 'begins at StartAfter, not behind it',
    faults: { list: { startAfter: 'inclusive' } },
    found: { 'list-start-after': 'fail' },
    says: { 'list-start-after': /gives "bcd" instead of "cd"/ },
  },
  {
    name: 'begins only behind keys that exist',
    faults: { list: { startAfter: 'existing' } },
    found: { 'list-start-after': 'fail', 'list-start-outside': 'warning' },
    says: { 'list-start-after': /StartAfter "b0" among/ },
  },
  {
    name: 'begins only below the prefix',
    faults: { list: { startAfter: 'inside' } },
    found: { 'list-start-outside': 'warning' },
    says: { 'list-start-outside': /gives "abcd" before it and "abcd" behind it/ },
  },
  {
    name: 'knows no folders',
    faults: { list: { ignoresDelimiter: true } },
    found: { 'list-folders': 'fail' },
    says: { 'list-folders': /gives "one\/1", "one\/2", .* instead of "one\/"/ },
  },
  {
    name: 'ignores MaxKeys',
    faults: { list: { ignoresMaxKeys: true } },
    found: { 'list-start-after': 'fail', 'list-pages': 'fail', 'list-unicode-pages': 'warning' },
    says: { 'list-pages': /a page of MaxKeys 3 has 15 keys/ },
  },
  {
    name: 'ends a listing with an empty page',
    faults: { list: { emptyLastPage: true } },
    found: { 'list-pages': 'warning' },
    says: { 'list-pages': /15 keys took 6 pages of three, not 5/ },
  },
  {
    name: 'leads back to the first page',
    faults: { list: { isEndless: true } },
    found: { 'list-pages': 'fail', 'list-unicode-pages': 'warning' },
    says: { 'list-pages': /After 17 pages of 15 keys there is still a token/ },
  },
  {
    name: 'breaks tokens that are not ASCII',
    faults: { list: { asciiTokens: true } },
    found: { 'list-unicode-pages': 'warning' },
  },
  {
    name: 'ignores the encoding',
    faults: { list: { ignoresEncoding: true } },
    found: { 'list-encoding': 'warning' },
  },
  {
    name: 'has pages of 600 keys',
    faults: { list: { pageMax: 600 } },
    target: { isThorough: true },
    found: { 'list-page-size': 'warning' },
    says: { 'list-page-size': /A full page has 600 keys, not 1,000/ },
  },
  {
    name: 'loses keys of large folders',
    faults: { list: { loses: (key) => key.endsWith('/0777') } },
    target: { isThorough: true },
    found: { 'list-page-size': 'fail' },
    says: { 'list-page-size': /Of 1001 objects, all pages together list 1000/ },
  },
];
