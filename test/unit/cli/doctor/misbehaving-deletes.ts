import { type AskedRequest, errorReply, type LyingStore } from '../../../support/lying-store.ts';
import { type Misbehaving, noKeys } from './examined.ts';

/** The rounds of the checks of consistency write one byte: x. */
const isRound = ({ method, body }: AskedRequest) => method === 'PUT' && body.toString() === 'x';

const isDelete = ({ method, query }: AskedRequest) => method === 'DELETE' || query.has('delete');

/** The answer to DeleteObjects when all went well. */
function deletedAll({ body }: AskedRequest): string {
  const keys = body.toString().match(/<Key>.*?<\/Key>/g) ?? [];
  return `<DeleteResult>${keys.map((key) => `<Deleted>${key}</Deleted>`).join('')}</DeleteResult>`;
}

/** A key that was written, or deleted, so many requests before. */
function changed(store: LyingStore, method: string, requestsAgo: number): AskedRequest | undefined {
  const request = store.asked[requestsAgo - 1];
  if (request?.method !== method) return undefined;
  return method !== 'PUT' || isRound(request) ? request : undefined;
}

/** Stores whose answers are out of date, or which do not delete. */
export const misbehavingDeletes: readonly Misbehaving[] = [
  {
    name: 'lists an object late',
    faults: {
      instead: ({ key, query }, store) => {
        const fresh = key === '' ? changed(store, 'PUT', 1) : undefined;
        return fresh && query.get('prefix')?.endsWith('/') ? { status: 200, body: noKeys } : undefined;
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
        return gone && /\/\d+\/$/.test(query.get('prefix') ?? '') ? { status: 200, body } : undefined;
      },
    },
    found: { 'list-after-delete': 'warning' },
  },
  {
    name: 'answers 404 when there is nothing to delete',
    faults: {
      instead: ({ method, key }, store) =>
        method === 'DELETE' && store.sizeOf(key) === undefined ? errorReply(404, 'NoSuchKey') : undefined,
    },
    found: {},
    says: { delete: /repeating it isn't an error/ },
  },
  {
    name: 'lets nobody delete',
    faults: { instead: (request) => (isDelete(request) ? errorReply(403, 'AccessDenied') : undefined) },
    found: {
      'head-after-put': 'fail',
      'list-after-put': 'fail',
      'head-after-delete': 'fail',
      'list-after-delete': 'fail',
      delete: 'fail',
      'delete-many': 'fail',
      cleanup: 'warning',
    },
    says: {
      cleanup: /Left in the bucket: \d+ objects below p\/lfs-quota-doctor-\w+\/: The store rejected DELETE/,
    },
  },
  {
    name: 'says that it deletes, and does not',
    faults: {
      instead: (request) => {
        if (request.isPresigned || !isDelete(request)) return undefined;
        return request.method === 'DELETE' ? { status: 204 } : { status: 200, body: deletedAll(request) };
      },
    },
    found: {
      'head-after-delete': 'fail',
      'list-after-delete': 'warning',
      delete: 'fail',
      'delete-many': 'fail',
      cleanup: 'warning',
    },
  },
  {
    name: 'says that it deletes many at once, and does not',
    faults: {
      instead: (request) =>
        request.query.has('delete') ? { status: 200, body: deletedAll(request) } : undefined,
    },
    found: { 'delete-many': 'fail' },
    says: { 'delete-many': /several objects, and one still exists/ },
  },
];
