import { createHash } from 'node:crypto';
import { readSignature } from '../../../../local/store/signed-request.ts';
import {
  type AskedRequest,
  errorReply,
  isSignedAs,
  type LyingStore,
  type Refusal,
} from '../../../support/lying-store.ts';
import type { Misbehaving } from './examined.ts';

const isPut = ({ method, key }: AskedRequest) => method === 'PUT' && key !== '';
const checksumOf = ({ headers }: AskedRequest) => headers['x-amz-checksum-sha256'];
const isSignedFor = (request: AskedRequest, bytes: number) =>
  isSignedAs(request, { headers: { 'content-length': `${bytes}` } });

/** The key that the doctor took after this one. */
const nextKey = (key: string) => key.replace(/\d+$/, (number) => `${Number(number) + 1}`);

function expiresAtMs(request: AskedRequest): number {
  const { signedAtMs, expiresSeconds = 0 } = readSignature(request);
  return signedAtMs + expiresSeconds * 1000;
}

const isExpired = ({ text }: Refusal) => text === 'Request has expired';
const isUnsigned = ({ text }: Refusal) => text.includes("weren't signed");
const isWrong = ({ code }: Refusal) => code === 'SignatureDoesNotMatch';
const isStored = (store: LyingStore, { key }: AskedRequest) => store.sizeOf(key) !== undefined;
const sha256Of = (body: Buffer) => createHash('sha256').update(body).digest('base64');

/** Stores whose signed URLs are good for more than what was signed. */
export const misbehavingUrls: readonly Misbehaving[] = [
  {
    name: 'does not compare the bytes with their checksum',
    faults: { overlooks: ({ code }) => code === 'BadDigest' },
    found: { 'other-bytes': 'fail', 'kept-object': 'fail' },
    says: { 'other-bytes': /kept 2000 bytes of other bytes of the same length, and returned 200/ },
  },
  {
    name: 'takes any checksum that is right for the bytes',
    faults: {
      overlooks: async (refusal, request) =>
        isWrong(refusal) &&
        isPut(request) &&
        checksumOf(request) === sha256Of(request.body) &&
        !(await isSignedFor(request, 1)) &&
        !(await isSignedAs(request, { key: nextKey(request.key) })),
    },
    found: { 'other-checksum': 'fail' },
  },
  {
    name: 'does without the checksum',
    faults: {
      overlooks: (refusal, request) =>
        isWrong(refusal) && isPut(request) && checksumOf(request) === undefined && request.body.length > 1,
    },
    found: { 'no-checksum': 'fail' },
  },
  {
    name: 'takes less than was signed',
    faults: {
      overlooks: async (_, request) => request.body.length === 1999 && (await isSignedFor(request, 2000)),
    },
    found: { 'fewer-bytes': 'fail' },
    says: { 'fewer-bytes': /kept 1999 bytes/ },
  },
  {
    name: 'takes more than was signed',
    faults: {
      overlooks: async (_, request) => request.body.length === 3000 && (await isSignedFor(request, 2000)),
    },
    found: { 'more-bytes': 'fail' },
    says: { 'more-bytes': /kept 3000 bytes/ },
  },
  {
    name: 'takes any length if the checksum is right',
    faults: {
      overlooks: async (refusal, request) => isWrong(refusal) && (await isSignedFor(request, 1)),
    },
    found: { 'wrong-length': 'fail' },
  },
  {
    name: 'takes bodies without a length',
    faults: { overlooks: (_, { headers }) => headers['transfer-encoding'] === 'chunked' },
    found: { 'no-length': 'fail' },
    says: { 'no-length': /kept 4000 bytes/ },
  },
  {
    name: 'keeps what arrived of an upload that was cut',
    faults: {
      overlooks: (_, { isCut }) => isCut,
    },
    found: { 'cut-off': 'fail', 'kept-object': 'fail' },
    says: { 'cut-off': /kept \d+ bytes of an upload that ends half-way/ },
  },
  {
    name: 'does not look whose key was signed',
    faults: {
      overlooks: async (refusal, request) =>
        isWrong(refusal) && (await isSignedAs(request, { key: nextKey(request.key) })),
    },
    found: { 'other-key': 'fail' },
  },
  {
    name: 'takes uploads for ever',
    faults: { overlooks: (refusal, request) => isExpired(refusal) && isPut(request) },
    found: { 'late-upload': 'fail', 'just-late': 'warning' },
  },
  {
    name: 'takes uploads a little longer',
    faults: {
      overlooks: (refusal, request) =>
        isExpired(refusal) && isPut(request) && expiresAtMs(request) > Date.now() - 20_000,
    },
    found: { 'just-late': 'warning' },
  },
  {
    name: 'writes in place, and checks afterwards',
    faults: {
      changes: async (reply, request, store) => {
        if (reply.status === 400 && isPut(request) && isStored(store, request))
          await store.put(request.key, request.body);
        return reply;
      },
    },
    found: { 'kept-object': 'fail' },
  },
  {
    name: 'lets the URL of an upload delete',
    faults: {
      overlooks: async (refusal, request) =>
        isWrong(refusal) &&
        request.method === 'DELETE' &&
        (await isSignedAs(request, {
          method: 'PUT',
          headers: { 'content-length': '2000', 'x-amz-checksum-sha256': lastChecksum.get(request.key) ?? '' },
        })),
      changes: (reply, request) => {
        const checksum = checksumOf(request);
        if (typeof checksum === 'string') lastChecksum.set(request.key, checksum);
        return reply;
      },
    },
    found: { 'other-method': 'fail' },
    says: {
      'other-method': /The URL of an upload works for DELETE: 204, and the object is changed or gone/,
    },
  },
  {
    name: 'lets the URL of a download write',
    faults: {
      overlooks: async (refusal, request) =>
        isWrong(refusal) && isPut(request) && (await isSignedAs(request, { method: 'GET' })),
    },
    found: { 'download-url': 'fail' },
    says: { 'download-url': /The URL of a download works for PUT/ },
  },
  {
    name: 'serves downloads for ever',
    faults: { overlooks: (refusal, { method }) => isExpired(refusal) && method === 'GET' },
    found: { 'late-download': 'fail' },
  },
  {
    name: 'copies by a header that was not signed',
    faults: {
      instead: async ({ headers, key, query }, store) => {
        const source = headers['x-amz-copy-source'];
        if (source === undefined || query.has('partNumber')) return undefined;
        const { body } = await store.honest.send({ method: 'GET', path: String(source) });
        return await store.put(key, body);
      },
    },
    found: { 'foreign-headers': 'fail' },
    says: {
      'foreign-headers': /With the unsigned header x-amz-copy-source, an upload stored 5000 other bytes/,
    },
  },
  {
    name: 'takes notes that were not signed',
    faults: {
      overlooks: (refusal, { headers }) => isUnsigned(refusal) && headers['x-amz-copy-source'] === undefined,
    },
    found: { 'foreign-headers': 'warning' },
  },
  {
    name: 'stores what it refused at the next upload',
    faults: {
      changes: async (reply, request, store) => {
        const refused = store.asked.find((other) => isPut(other));
        const isOfLie = refused?.body.length === 2000 && checksumOf(refused) !== sha256Of(refused.body);
        if (isPut(request) && refused !== undefined && isOfLie && !isStored(store, refused))
          await store.put(refused.key, refused.body);
        return reply;
      },
    },
    found: { 'nothing-left': 'fail' },
    says: { 'nothing-left': /stored it later: other bytes of the same length/ },
  },
  {
    name: 'says that it stored what it refused',
    faults: { changes: (reply) => (reply.status === 400 ? { status: 200 } : reply) },
    found: { 'other-bytes': 'fail' },
    says: { 'other-bytes': /returned 200 for other bytes of the same length, but didn't do it/ },
  },
  {
    name: 'answers a wrong checksum as if it were down',
    faults: { changes: (reply) => (reply.status === 400 ? errorReply(500, 'InternalError') : reply) },
    found: { 'other-bytes': 'warning' },
    says: { 'other-bytes': /500 InternalError/ },
  },
  {
    name: 'answers 501 to a body without a length, as AWS',
    faults: {
      instead: ({ headers }) =>
        headers['transfer-encoding'] === undefined ? undefined : errorReply(501, 'NotImplemented'),
    },
    found: {},
    says: { 'no-length': /^Rejected with 501 NotImplemented/ },
  },
];

const lastChecksum = new Map<string, string>();
