import { type AskedRequest, errorReply, type LyingStore } from '../../../support/lying-store.ts';
import type { Misbehaving } from './examined.ts';

const isCompletion = ({ method, query }: AskedRequest) => method === 'POST' && query.has('uploadId');

const isConditional = ({ headers }: AskedRequest) => headers['if-none-match'] !== undefined;

const isCreation = ({ method, query }: AskedRequest) => method === 'POST' && query.has('uploads');

const halfOf = (body: unknown) => String(body).slice(0, 90);

/** What was uploaded of the parts of an upload, in their order. */
function partsOf({ query }: AskedRequest, { asked }: LyingStore): readonly Buffer[] {
  const isPart = (other: AskedRequest) =>
    other.method === 'PUT' && other.query.get('uploadId') === query.get('uploadId');
  return asked
    .filter(isPart)
    .map(({ body }) => body)
    .reverse();
}

/** Its headers whose names match. */
const headersOf = ({ headers }: AskedRequest, names: RegExp) =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (names.test(name) ? [[name, String(value)]] : [])),
  );

const isCopy = ({ headers }: AskedRequest) => headers['x-amz-copy-source'] !== undefined;

/** Asks for a copy whatever the version of its source. */
const copyAny = (request: AskedRequest, store: LyingStore) =>
  store.ask(request, { headers: headersOf(request, /^x-amz-copy-source(-range)?$/) });

/** Stores with other rules for large objects. The service does not need what they lack. */
export const misbehavingParts: readonly Misbehaving[] = [
  {
    name: 'takes no more than 3,000,000 bytes at once',
    faults: {
      instead: ({ body }) => (body.length > 3_000_000 ? errorReply(413, 'EntityTooLarge') : undefined),
    },
    target: { largestBytes: 10_000_000 },
    found: { 'largest-upload': 'warning', multipart: 'warning' },
    says: { 'largest-upload': /9\.54 MiB is rejected \(413 EntityTooLarge\), one of 2\.38 MiB accepted/ },
  },
  {
    name: 'takes nothing large at all',
    faults: { instead: ({ body }) => (body.length > 60_000 ? errorReply(413, 'EntityTooLarge') : undefined) },
    target: { largestBytes: 5_000_000 },
    found: { 'largest-upload': 'warning', multipart: 'warning' },
    says: { 'largest-upload': /and smaller ones as well/ },
  },
  {
    name: 'has no uploads in parts',
    faults: {
      instead: ({ query }) =>
        query.has('uploads') || query.has('uploadId') ? errorReply(501, 'NotImplemented') : undefined,
    },
    found: { multipart: 'warning' },
  },
  {
    name: 'loses the last part',
    faults: {
      instead: async (request, store) => {
        if (!isCompletion(request)) return undefined;
        const parts = request.body.toString().match(/<Part>.*?<\/Part>/gs) ?? [];
        const others = `<CompleteMultipartUpload>${parts.slice(0, -1).join('')}</CompleteMultipartUpload>`;
        return await store.ask(request, { body: Buffer.from(others) });
      },
    },
    found: { multipart: 'warning' },
    says: { multipart: /5242880 bytes are stored instead of 5242881/ },
  },
  {
    name: 'takes small parts',
    faults: {
      changes: async (reply, request, store) => {
        if (reply.status !== 400 || !isCompletion(request)) return reply;
        await store.put(request.key, Buffer.concat(partsOf(request, store)));
        await store.ask({ ...request, method: 'DELETE' });
        return {
          status: 200,
          body: '<CompleteMultipartUploadResult><ETag>"whole"</ETag></CompleteMultipartUploadResult>',
        };
      },
    },
    found: {},
    says: { 'multipart-small': /Parts of 1 KiB are accepted/ },
  },
  {
    name: 'wants equal parts, as R2',
    faults: {
      instead: (request, store) => {
        if (!isCompletion(request)) return undefined;
        const sizes = partsOf(request, store).map(({ length }) => length);
        return new Set(sizes.slice(0, -1)).size > 1 ? errorReply(400, 'InvalidPart') : undefined;
      },
    },
    found: { 'multipart-unequal': 'warning' },
  },
  {
    name: 'copies nothing',
    faults: {
      instead: (request) => (isCopy(request) ? errorReply(501, 'NotImplemented') : undefined),
    },
    found: { 'copy-part': 'warning' },
    says: { 'copy-part': /can't be copied from an object as it was listed: NotImplemented/ },
  },
  {
    name: 'knows no condition of a copy, as R2 documents it',
    faults: {
      instead: (request) =>
        request.headers['x-amz-copy-source-if-match'] === undefined
          ? undefined
          : errorReply(501, 'NotImplemented', 'header not implemented'),
    },
    found: { 'copy-part': 'warning' },
    says: { 'copy-part': /as it was listed: NotImplemented: header not implemented\.$/ },
  },
  {
    name: 'ignores the condition of a copy',
    faults: {
      instead: (request, store) => (isCopy(request) ? copyAny(request, store) : undefined),
    },
    found: { 'copy-part': 'warning' },
    says: { 'copy-part': /is copied from an object with another ETag: no error\.$/ },
  },
  {
    name: 'refuses every copy with a condition, as if its source had changed',
    faults: {
      instead: (request) =>
        isCopy(request) ? errorReply(412, 'PreconditionFailed', 'It has changed.') : undefined,
    },
    found: { 'copy-part': 'warning' },
    says: { 'copy-part': /as it was listed: It has changed\.$/ },
  },
  {
    name: 'fails where the condition of a copy is not met',
    faults: {
      changes: (reply, request) =>
        isCopy(request) && reply.status === 412 ? errorReply(400, 'InvalidRequest', 'Oh.') : reply,
    },
    found: { 'copy-part': 'warning' },
    says: { 'copy-part': /with another ETag: InvalidRequest: Oh\.$/ },
  },
  {
    name: 'tells another CRC-32 of a copy',
    faults: {
      changes: (reply, request) =>
        isCopy(request)
          ? {
              ...reply,
              body: String(reply.body).replace(/<ChecksumCRC32>.*?</, '<ChecksumCRC32>AAAAAA==<'),
            }
          : reply,
    },
    found: { 'copy-crc32': 'warning' },
  },
  {
    name: 'ignores the condition of a read',
    faults: {
      instead: (request, store) =>
        request.headers['if-match'] === undefined
          ? undefined
          : store.ask(request, { headers: headersOf(request, /^range$/) }),
    },
    found: { files: 'warning' },
    says: { files: /A GET with If-Match returns an object with another ETag/ },
  },
  {
    name: 'ignores the range of a read',
    faults: {
      instead: (request, store) =>
        request.headers.range === undefined
          ? undefined
          : store.ask(request, { headers: headersOf(request, /^if-match$/) }),
    },
    found: { files: 'warning' },
  },
  {
    name: 'tells an ETag that it does not list',
    faults: {
      changes: (reply, { method }) =>
        method === 'HEAD' ? { ...reply, headers: { ...reply.headers, etag: '"other"' } } : reply,
    },
    found: { files: 'warning' },
    says: { files: /The ETags of an object differ: \{"PUT":".*","LIST":".*","HEAD":"\\"other/ },
  },
  {
    name: 'lists no uploads',
    faults: {
      changes: (reply, { method, query }) =>
        method === 'GET' && query.has('uploads')
          ? { status: 200, body: '<ListMultipartUploadsResult/>' }
          : reply,
    },
    found: { multipart: 'warning' },
    says: { multipart: /its parts aren't listed/ },
  },
  {
    name: 'knows no size of an object that is made of parts',
    faults: {
      instead: (request) =>
        request.headers['x-amz-mp-object-size'] === undefined
          ? undefined
          : errorReply(501, 'NotImplemented', 'No x-amz-mp-object-size.'),
    },
    found: { 'complete-absent': 'warning' },
    says: { 'complete-absent': /don't work: NotImplemented: No x-amz-mp-object-size\.$/ },
  },
  {
    name: 'overwrites what a completed upload must not',
    faults: {
      // Without its headers.
      instead: (request, store) =>
        isCompletion(request) && isConditional(request) ? store.ask(request) : undefined,
    },
    found: { 'complete-absent': 'warning' },
    says: { 'complete-absent': /overwrites an object/ },
  },
  {
    name: 'knows no condition of a completion',
    faults: {
      instead: (request) =>
        isCompletion(request) && isConditional(request)
          ? errorReply(501, 'NotImplemented', 'No If-None-Match.')
          : undefined,
    },
    found: { 'complete-absent': 'warning' },
    says: { 'complete-absent': /don't work: NotImplemented: No If-None-Match\.$/ },
  },
  {
    name: 'does not end uploads that were begun',
    faults: {
      instead: ({ method, query }) =>
        method === 'DELETE' && query.has('uploadId') ? errorReply(500, 'InternalError') : undefined,
    },
    found: { cleanup: 'warning' },
    says: { cleanup: /4 unfinished multipart uploads/ },
  },
  {
    name: 'sends half of what it answers about parts',
    faults: {
      changes: (reply, request) =>
        isCreation(request) ? { ...reply, body: halfOf(reply.body), isCut: true } : reply,
    },
    found: { multipart: 'warning' },
    says: { multipart: /^Multipart uploads don't work: The response was incomplete \(ECONNRESET\)\.$/ },
  },
  {
    name: 'answers with half a document',
    faults: {
      changes: (reply, request) => (isCreation(request) ? { ...reply, body: halfOf(reply.body) } : reply),
    },
    found: { multipart: 'warning' },
    says: { multipart: /^Multipart uploads don't work: Can't read the response \(\w+\)\.$/ },
  },
  {
    name: 'answers nothing about parts',
    faults: { changes: (reply, request) => (isCreation(request) ? { status: 200 } : reply) },
    found: { multipart: 'warning' },
    says: { multipart: /^Multipart uploads don't work: The answer has no upload\.$/ },
  },
  {
    name: 'knows no parts, and says why',
    faults: {
      instead: (request) =>
        isCreation(request) ? errorReply(501, 'NotImplemented', 'Not here.') : undefined,
    },
    found: { multipart: 'warning' },
    says: { multipart: /^Multipart uploads don't work: NotImplemented: Not here\.$/ },
  },
];
