import { deleteObjects } from './delete-objects.ts';
import { getObject, headObject } from './get-object.ts';
import { listObjects } from './list-objects.ts';
import { multipartOperations } from './multipart-operations.ts';
import type { Operation, OperationInput } from './operation.ts';
import { putObject } from './put-object.ts';
import type { StoreReply } from './reply.ts';
import { notImplemented, S3Error } from './s3-error.ts';
import type { StoreRequest } from './store-request.ts';
import { bodyHeaders } from './upload-plan.ts';
import { metadataPrefix } from './user-metadata.ts';

const readHeaders = ['x-amz-checksum-mode'];
const readQuery = ['partNumber', 'x-amz-checksum-mode'];
const refusedConditions = ['if-range'];

/** The first that fits is run, so those with marks come before those without. */
const operations: readonly Operation[] = [
  ...multipartOperations,
  {
    on: 'object',
    method: 'PUT',
    headers: bodyHeaders,
    takesMetadata: true,
    refusedHeaders: ['if-match'],
    run: putObject,
  },
  {
    on: 'object',
    method: 'GET',
    headers: readHeaders,
    query: readQuery,
    refusedHeaders: refusedConditions,
    run: ({ files, request }) => getObject(files, request),
  },
  {
    on: 'object',
    method: 'HEAD',
    headers: readHeaders,
    query: readQuery,
    refusedHeaders: refusedConditions,
    run: ({ files, request }) => headObject(files, request),
  },
  {
    on: 'object',
    method: 'DELETE',
    refusedHeaders: ['if-match'],
    run: async ({ files, request }) => {
      for (const error of (await files.delete([request.key])).values()) throw error;
      return { status: 204 };
    },
  },
  {
    on: 'bucket',
    method: 'POST',
    marks: { query: ['delete'] },
    refusesUrls: true,
    headers: bodyHeaders,
    run: deleteObjects,
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
  const { request, bucket, authenticated } = input;
  if (request.bucket === '') throw notImplemented(`${request.method} on the service`);
  if (request.bucket !== bucket)
    throw new S3Error('NoSuchBucket', `The only bucket of this store is ${bucket}.`);
  const on = request.key === '' ? 'bucket' : 'object';
  const operation = operations.find(
    (candidate) => candidate.on === on && candidate.method === request.method && isMarked(request, candidate),
  );
  if (operation === undefined) throw notImplemented(`${request.method} on a ${on}`);
  if (operation.refusesUrls && authenticated.urlExpiresAtMs !== undefined) {
    const text =
      'Deletes of many objects, copies and uploads in parts must be signed in their headers; a presigned URL is not enough.';
    throw new S3Error('AccessDenied', text);
  }
  refuseUnknown(request, operation);
  return await operation.run(input);
}

function isMarked({ query, headers }: StoreRequest, { marks }: Operation): boolean {
  const hasQuery = marks?.query?.every((name) => query.has(name)) ?? true;
  return hasQuery && (marks?.headers?.every((name) => headers[name] !== undefined) ?? true);
}

function refuseUnknown({ query, headers }: StoreRequest, operation: Operation): void {
  const { marks } = operation;
  const allowedQuery = [...alwaysAllowedQuery, ...(marks?.query ?? []), ...(operation.query ?? [])];
  for (const name of query.keys()) {
    if (!allowedQuery.includes(name)) throw notImplemented(`the query parameter ${name.slice(0, 100)}`);
  }
  const allowedHeaders = [...alwaysAllowedHeaders, ...(marks?.headers ?? []), ...(operation.headers ?? [])];
  for (const name of Object.keys(headers)) {
    const isMetadata = operation.takesMetadata === true && name.startsWith(metadataPrefix);
    // All there is here is private.
    const isPrivate = name === 'x-amz-acl' && headers[name] === 'private';
    const isKnown = isMetadata || isPrivate || allowedHeaders.includes(name);
    const isUnknown = name.startsWith('x-amz-') && !isKnown;
    if (isUnknown || operation.refusedHeaders?.includes(name)) throw notImplemented(`the header ${name}`);
  }
}
