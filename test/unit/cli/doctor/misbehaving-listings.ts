import { compareKeys } from '../../../../lambda/domain/key-order.ts';
import { errorReply } from '../../../support/fake-s3/reply.ts';
import type { FakeRequest } from '../../../support/fake-s3/request.ts';
import type { FakeS3 } from '../../../support/fake-s3/server.ts';
import type { Misbehaving } from './examined.ts';

const isAscii = (key: string) => /^[\x20-\x7e]*$/.test(key);
const byUtf16 = (a: string, b: string) => (a < b ? -1 : Number(a > b));
const withoutCase = (a: string, b: string) =>
  compareKeys(a.toLowerCase(), b.toLowerCase()) || compareKeys(a, b);

/** The rounds of the checks of consistency write one byte: x. */
const isRound = ({ method, body }: FakeRequest) => method === 'PUT' && body.toString() === 'x';

/** A key that was written, or deleted, so many requests before. */
function changed(store: FakeS3, method: string, requestsAgo: number): FakeRequest | undefined {
  const request = store.asked[requestsAgo - 1];
  if (request?.method !== method) return undefined;
  return method !== 'PUT' || isRound(request) ? request : undefined;
}

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

const noKeys = '<ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>';

/** Stores whose answers are out of date, or which do not delete. */
export const misbehavingDeletes: readonly Misbehaving[] = [
  {
    name: 'lists an object late',
    faults: {
      instead: ({ key, query }, store) => {
        const fresh = key === '' ? changed(store, 'PUT', 1) : undefined;
        return fresh && query.get('prefix')?.endsWith('/')
          ? { status: 200, body: Buffer.from(noKeys) }
          : undefined;
      },
    },
    found: { 'list-after-put': 'fail' },
    says: { 'list-after-put': /In 10 of 10 rounds a listing lacked/ },
  },
  {
    name: 'sees an object late',
    faults: {
      instead: ({ method, key }, store) =>
        method === 'HEAD' && changed(store, 'PUT', 2)?.key === key ? errorReply(404, 'NoSuchKey') : undefined,
    },
    found: { 'head-after-put': 'fail' },
  },
  {
    name: 'still sees what it deleted',
    faults: {
      instead: ({ method, key }, store) =>
        method === 'HEAD' && changed(store, 'DELETE', 2)?.key === key
          ? { status: 200, headers: { 'content-length': '1' } }
          : undefined,
    },
    found: { 'head-after-delete': 'fail' },
  },
  {
    name: 'still lists what it deleted',
    faults: {
      instead: ({ key, query }, store) => {
        const gone = key === '' ? changed(store, 'DELETE', 1) : undefined;
        const entry = `<Contents><Key>${gone?.key}</Key><Size>1</Size></Contents>`;
        const body = noKeys.replace('<KeyCount>0', `${entry}<KeyCount>1`);
        return gone && /\/\d+\/$/.test(query.get('prefix') ?? '')
          ? { status: 200, body: Buffer.from(body) }
          : undefined;
      },
    },
    found: { 'list-after-delete': 'warning' },
  },
  {
    name: 'answers 404 when there is nothing to delete',
    faults: {
      instead: ({ method, key }, store) =>
        method === 'DELETE' && !store.objects.has(key) ? errorReply(404, 'NoSuchKey') : undefined,
    },
    found: { delete: 'fail' },
    says: { delete: /Deleting an object that is already deleted does not work/ },
  },
  {
    name: 'lets nobody delete',
    faults: { instead: ({ method }) => (method === 'DELETE' ? errorReply(403, 'AccessDenied') : undefined) },
    found: {
      'head-after-put': 'fail',
      'list-after-put': 'fail',
      'head-after-delete': 'fail',
      'list-after-delete': 'fail',
      delete: 'fail',
      cleanup: 'warning',
    },
    says: {
      cleanup: /Left in the bucket: \d+ objects below p\/lfs-quota-doctor-\w+\/: The store refused DELETE/,
    },
  },
  {
    name: 'says that it deletes, and does not',
    faults: {
      instead: ({ method, isPresigned }) =>
        method === 'DELETE' && !isPresigned ? { status: 204 } : undefined,
    },
    found: {
      'head-after-delete': 'fail',
      'list-after-delete': 'warning',
      delete: 'fail',
      cleanup: 'warning',
    },
  },
];

/** Stores with other rules for large objects. The service does not need what they lack. */
export const misbehavingParts: readonly Misbehaving[] = [
  {
    name: 'takes no more than 3,000,000 bytes at once',
    faults: {
      instead: ({ body }) => (body.length > 3_000_000 ? errorReply(413, 'EntityTooLarge') : undefined),
    },
    target: { largestBytes: 10_000_000 },
    found: { 'largest-upload': 'warning' },
    says: { 'largest-upload': /9\.54 MiB is refused \(413 EntityTooLarge\), one of 2\.38 MiB accepted/ },
  },
  {
    name: 'takes nothing large at all',
    faults: { instead: ({ body }) => (body.length > 60_000 ? errorReply(413, 'EntityTooLarge') : undefined) },
    target: { largestBytes: 5_000_000 },
    found: { 'largest-upload': 'warning' },
    says: { 'largest-upload': /and smaller ones as well/ },
  },
  {
    name: 'has no uploads in parts',
    faults: { multipart: { hasNoParts: true } },
    found: { multipart: 'warning' },
  },
  {
    name: 'loses the last part',
    faults: { multipart: { dropsLastPart: true } },
    found: { multipart: 'warning' },
    says: { multipart: /5242880 bytes are stored instead of 5242881/ },
  },
  {
    name: 'takes small parts',
    faults: { multipart: { takesSmallParts: true } },
    found: {},
    says: { 'multipart-small': /Parts of 1 KiB are accepted/ },
  },
  {
    name: 'wants equal parts, as R2',
    faults: { multipart: { wantsEqualParts: true } },
    found: { 'multipart-unequal': 'warning' },
  },
  {
    name: 'copies nothing',
    faults: { multipart: { hasNoCopy: true, hasNoPartCopy: true } },
    found: { 'copy-object': 'warning', 'copy-part': 'warning' },
  },
  {
    name: 'does not end uploads that were begun',
    faults: { multipart: { keepsAborted: true } },
    found: { cleanup: 'warning' },
    says: { cleanup: /1 unfinished multipart uploads/ },
  },
];
