import type { IncomingMessage } from 'node:http';
import type { Authenticated } from './authenticate.ts';
import { getObject, headObject } from './get-object.ts';
import { listObjects } from './list-objects.ts';
import type { ObjectFiles } from './object-files.ts';
import { putObject } from './put-object.ts';
import type { StoreReply } from './reply.ts';
import { notImplemented, S3Error } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';
import type { UploadTime } from './upload-deadline.ts';

export interface OperationInput {
  readonly files: ObjectFiles;
  readonly bucket: string;
  readonly request: StoreRequest;
  readonly authenticated: Authenticated;
  readonly body: () => IncomingMessage;
  readonly now: () => number;
  readonly uploadTime: UploadTime;
}

/** An operation and the parameters it supports. A request with any other parameter is refused, not ignored. */
interface Operation {
  readonly on: 'bucket' | 'object';
  readonly method: string;
  readonly query?: readonly string[];
  /** Supported headers among those that begin with `x-amz-`. */
  readonly headers?: readonly string[];
  readonly refusedHeaders?: readonly string[];
  readonly run: (input: OperationInput) => Promise<StoreReply> | StoreReply;
}

const readHeaders = ['x-amz-checksum-mode'];
const readQuery = ['x-amz-checksum-mode'];
const conditions = ['if-match', 'if-unmodified-since', 'if-range'];

const operations: readonly Operation[] = [
  {
    on: 'object',
    method: 'PUT',
    headers: [
      'x-amz-checksum-crc32',
      'x-amz-checksum-sha1',
      'x-amz-checksum-sha256',
      'x-amz-sdk-checksum-algorithm',
      'x-amz-decoded-content-length',
      'x-amz-trailer',
    ],
    refusedHeaders: ['if-match'],
    run: putObject,
  },
  {
    on: 'object',
    method: 'GET',
    headers: readHeaders,
    query: readQuery,
    refusedHeaders: conditions,
    run: ({ files, request }) => getObject(files, request),
  },
  {
    on: 'object',
    method: 'HEAD',
    headers: readHeaders,
    query: readQuery,
    refusedHeaders: conditions,
    run: ({ files, request }) => headObject(files, request),
  },
  {
    on: 'object',
    method: 'DELETE',
    refusedHeaders: ['if-match'],
    run: async ({ files, request }) => {
      await files.delete(request.key);
      return { status: 204 };
    },
  },
  {
    on: 'bucket',
    method: 'GET',
    query: [
      'list-type',
      'prefix',
      'delimiter',
      'start-after',
      'continuation-token',
      'max-keys',
      'encoding-type',
      'fetch-owner',
    ],
    run: ({ files, request }) => {
      if (request.query.get('list-type') !== '2') throw notImplemented('ListObjects; use list-type=2');
      if (request.query.get('fetch-owner') === 'true') throw notImplemented('owners');
      return listObjects(files.index, request);
    },
  },
  { on: 'bucket', method: 'HEAD', run: () => ({ status: 200 }) },
  // The bucket always exists. S3 answers 200 to the owner who creates a bucket again.
  {
    on: 'bucket',
    method: 'PUT',
    run: ({ request }) => ({ status: 200, headers: { location: `/${request.bucket}` } }),
  },
];

const alwaysAllowedHeaders = ['x-amz-date', 'x-amz-content-sha256', 'x-amz-user-agent'];
const alwaysAllowedQuery = [
  'X-Amz-Algorithm',
  'X-Amz-Content-Sha256',
  'X-Amz-Credential',
  'X-Amz-Date',
  'X-Amz-Expires',
  'X-Amz-Signature',
  'X-Amz-SignedHeaders',
  'x-id',
];

/** Runs the operation of an authenticated request. @throws {S3Error} */
export async function runOperation(input: OperationInput): Promise<StoreReply> {
  const { request, bucket } = input;
  if (request.bucket === '') throw notImplemented(`${request.method} on the service`);
  if (request.bucket !== bucket)
    throw new S3Error('NoSuchBucket', `The only bucket of this store is ${bucket}.`);
  const on = request.key === '' ? 'bucket' : 'object';
  const operation = operations.find(
    (candidate) => candidate.on === on && candidate.method === request.method,
  );
  if (operation === undefined) throw notImplemented(`${request.method} on a ${on}`);
  refuseUnknown(request, operation);
  return await operation.run(input);
}

function refuseUnknown({ query, headers }: StoreRequest, operation: Operation): void {
  const allowedQuery = [...alwaysAllowedQuery, ...(operation.query ?? [])];
  for (const name of query.keys()) {
    if (!allowedQuery.includes(name)) throw notImplemented(`the query parameter ${name.slice(0, 100)}`);
  }
  const allowedHeaders = [...alwaysAllowedHeaders, ...(operation.headers ?? [])];
  for (const name of Object.keys(headers)) {
    const isUnknown = name.startsWith('x-amz-') && !allowedHeaders.includes(name);
    if (isUnknown || operation.refusedHeaders?.includes(name)) throw notImplemented(`the header ${name}`);
  }
}
