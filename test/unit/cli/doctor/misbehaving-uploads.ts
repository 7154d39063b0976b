import { type AskedRequest, errorReply } from '../../../support/lying-store.ts';
import type { Misbehaving } from './examined.ts';

const isPut = ({ method, key }: AskedRequest) => method === 'PUT' && key !== '';
const isUpload = (request: AskedRequest) =>
  isPut(request) && request.headers['x-amz-checksum-sha256'] !== undefined;

/** Keys that were uploaded to the store that takes each only once. */
const uploaded = new Set<string>();

/** Stores that cannot be reached, or do not do what every push and clone needs. */
export const misbehavingUploads: readonly Misbehaving[] = [
  {
    name: 'rejects the credentials',
    faults: { instead: () => errorReply(403, 'InvalidAccessKeyId') },
    found: { bucket: 'fail' },
    says: { bucket: /rejected the credentials \(InvalidAccessKeyId\)/ },
  },
  {
    name: 'has no such bucket',
    faults: { instead: () => errorReply(404, 'NoSuchBucket') },
    found: { bucket: 'fail' },
    says: { bucket: /Bucket objects not found/ },
  },
  {
    name: 'has the bucket in another region',
    faults: {
      instead: () => ({
        ...errorReply(400, 'AuthorizationHeaderMalformed'),
        headers: { 'x-amz-bucket-region': 'eu-north-1' },
      }),
    },
    found: { bucket: 'fail' },
    says: { bucket: /is in eu-north-1, not in us-east-1/ },
  },
  {
    name: 'may not be listed',
    faults: { instead: ({ key }) => (key === '' ? errorReply(403, 'AccessDenied') : undefined) },
    found: { bucket: 'fail' },
    says: { bucket: /can't list objects/ },
  },
  {
    name: 'has objects wherever one looks',
    faults: {
      instead: async (request, store) => {
        await store.put('other/1', Buffer.from('x'));
        return await store.ask(request, { query: new Map([['list-type', '2']]) });
      },
    },
    found: { bucket: 'fail' },
    says: { bucket: /contains keys without that prefix/ },
  },
  {
    name: 'has a clock that is 7 minutes ahead',
    faults: { clockOffsetMs: 420_000 },
    found: { clock: 'fail' },
    says: { clock: /is 4[12]\d\.\d s ahead of this machine/ },
  },
  {
    name: 'has a clock that is 9 seconds behind',
    faults: { clockOffsetMs: -9000 },
    found: { clock: 'warning' },
    says: { clock: /behind this machine's, more than the 5 s of protocol\.clockSkewSeconds/ },
  },
  {
    name: 'does not tell its time',
    faults: { changes: (reply) => ({ ...reply, headers: { ...reply.headers, date: '' } }) },
    found: { clock: 'warning' },
    says: { clock: /no Date header/ },
  },
  {
    name: 'does not know the checksum header, as Backblaze B2',
    faults: {
      instead: ({ headers }) =>
        headers['x-amz-checksum-sha256'] === undefined
          ? undefined
          : errorReply(
              400,
              'InvalidArgument',
              "Unsupported header 'x-amz-checksum-sha256' received for this API call.",
            ),
    },
    found: { upload: 'fail' },
    says: { upload: /400 InvalidArgument\. Unsupported header 'x-amz-checksum-sha256'/ },
  },
  {
    name: 'adds a byte to every object',
    faults: {
      changes: async (reply, request, store) => {
        if (isPut(request)) await store.put(request.key, Buffer.concat([request.body, Buffer.from('x')]));
        return reply;
      },
    },
    found: { upload: 'fail' },
    says: { upload: /accepted 4000 bytes, but a HEAD returns 4001 bytes/ },
  },
  {
    name: 'stores nothing',
    faults: { instead: (request) => (isPut(request) ? { status: 200 } : undefined) },
    found: { upload: 'fail' },
    says: { upload: /a HEAD finds nothing/ },
  },
  {
    name: 'tells another checksum',
    faults: {
      changes: (reply, { method }) =>
        method === 'HEAD' && reply.status === 200
          ? { ...reply, headers: { ...reply.headers, 'x-amz-checksum-sha256': `${'A'.repeat(43)}=` } }
          : reply,
    },
    found: { 'checksum-kept': 'warning' },
  },
  {
    name: 'refuses downloads',
    faults: {
      instead: ({ method, key }) =>
        method === 'GET' && key !== '' ? errorReply(403, 'AccessDenied') : undefined,
    },
    found: { download: 'fail', 'two-at-once': 'fail' },
    says: { download: /rejected a download by a signed URL: 403 AccessDenied/ },
  },
  {
    name: 'gives other bytes than it stores',
    faults: {
      changes: (reply, { method, key, query }) =>
        method === 'GET' && key !== '' && query.has('X-Amz-Signature') && reply.status === 200
          ? { ...reply, body: Buffer.alloc(reply.body?.length ?? 0) }
          : reply,
    },
    found: { download: 'fail', 'two-at-once': 'fail' },
    says: { download: /returns other bytes than the uploaded ones/ },
  },
  {
    name: 'keeps old versions',
    faults: {
      changes: (reply, request) =>
        isPut(request) ? { ...reply, headers: { 'x-amz-version-id': 'v1' } } : reply,
    },
    found: { versioning: 'warning' },
  },
  {
    name: 'lets no object be uploaded again',
    faults: {
      instead: (request) => {
        if (!isPut(request)) return undefined;
        if (uploaded.has(request.key)) return errorReply(409, 'ObjectLocked');
        uploaded.add(request.key);
        return undefined;
      },
    },
    found: { overwrite: 'fail', 'two-at-once': 'warning' },
    says: { overwrite: /Uploading the same bytes to an existing key is rejected: 409 ObjectLocked/ },
  },
  {
    name: 'keeps the first bytes of an object for ever',
    faults: {
      instead: (request, store) =>
        isUpload(request) && (store.sizeOf(request.key) ?? request.body.length) !== request.body.length
          ? { status: 200 }
          : undefined,
    },
    found: { overwrite: 'fail' },
    says: { overwrite: /a HEAD returns 1000 bytes instead of 1500/ },
  },
  {
    name: 'mixes two uploads of an object',
    faults: {
      changes: async (reply, request, store) => {
        const { key, body } = request;
        const isSecond = isPut(request) && store.asked.some((other) => isPut(other) && other.key === key);
        if (isSecond && body.length === 50_000) await store.put(key, Buffer.concat([body, body]));
        return reply;
      },
    },
    found: { 'two-at-once': 'fail' },
  },
  {
    name: 'is busy now and then',
    faults: {
      // Only HEAD requests, which the SDK sends again.
      instead: ({ method }, { asked }) =>
        method === 'HEAD' && asked.filter((other) => other.method === 'HEAD').length % 3 === 2
          ? errorReply(503, 'SlowDown')
          : undefined,
    },
    found: { throttling: 'warning' },
    says: { throttling: /requests were answered with 503 or 429/ },
  },
];
