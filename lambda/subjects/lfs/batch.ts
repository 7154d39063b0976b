import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type * as z from 'zod';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { RepoPath } from '../../core/ledger/rules/tenant.ts';
import { chunkedTransfer } from '../../core/ledger/rules/upload-way.ts';
import type { UploadVerdict } from '../../core/ledger/upload-batch.ts';
import { isOid } from '../../core/rules/names.ts';
import { isByteCount } from '../../core/rules/sizes.ts';
import {
  baseUrl,
  pathRepo,
  pathTenant,
  type Refusal,
  type Saying,
  uploadTokenHeader,
  verifyTokenHeader,
} from '../../frame/api/http.ts';
import type { WireAction, WireBatch, WireObject } from './contract.ts';
import { lfs, lfsError, wireAction } from './http.ts';
import { batchRequestSchema } from './lfs-request.ts';
import {
  chunksNeeded,
  diskFull,
  fileOf,
  invalid,
  objectDeleted,
  objectNotFound,
  sizeMismatch,
  storageLimitReached,
  uploadInTheWay,
} from './messages.ts';
import { decodeEvent, type Takes } from './operations.ts';
import type { DownloadVerdict, LfsPorts } from './seams.ts';

export interface BatchRequest {
  readonly operation: 'upload' | 'download';
  /** oid → bytes, each valid, once, in the order of the request. */
  readonly objects: ReadonlyMap<string, number>;
  /** Those that the client uploads in chunks. */
  readonly chunked: ReadonlySet<string>;
  /** What was refused while decoding, as it is answered. */
  readonly invalid: readonly WireObject[];
  /** As the client named them: some pair answers with them by their place. */
  readonly asked: readonly { readonly oid: string; readonly size: number }[];
}

interface BadBatch {
  readonly kind: 'bad';
  readonly statusCode: number;
  readonly message: string;
}

const bad = (statusCode: number, message: string): BadBatch => ({ kind: 'bad', statusCode, message });

export const batchTakes: Takes<z.output<typeof batchRequestSchema>> = {
  schema: batchRequestSchema,
  wrong: invalid.batch,
  tooMany({ batchObjectsMax }, value) {
    const objectCount = objectCountOf(value);
    return objectCount > batchObjectsMax ? invalid.tooManyObjects(objectCount, batchObjectsMax) : undefined;
  },
};

/** What uploads can be like. */
type ReadDeps = Pick<CoreDeps, 'settings' | 'way'>;

/** What a request to a repo asks for. An error of the whole is `bad`. The errors of single objects stand in `invalid`. */
export function readBatch(
  deps: ReadDeps,
  asked: z.output<typeof batchRequestSchema>,
  { tenant, repo }: RepoPath,
): { readonly kind: 'batch'; readonly batch: BatchRequest } | BadBatch {
  const { operation, transfers, objects, hash_algo } = asked;
  if (operation !== 'upload' && operation !== 'download') {
    return bad(422, invalid.operation(quote(operation)));
  }
  if (hash_algo !== undefined && hash_algo !== 'sha256') {
    return bad(409, invalid.hash(quote(hash_algo)));
  }
  const sendsChunks = operation === 'upload' && transfers?.includes(chunkedTransfer);
  const client: Client = { operation, sendsChunks, place: `${tenant} ${repo}` };
  const sorted = sortObjects(deps, objects, client);
  const large = [...sorted.objects].filter(([, size]) => deps.way.takes(size));
  const chunked = new Set(client.sendsChunks ? large.map(([oid]) => oid) : []);
  // An absent or empty list means basic (docs/api/batch.md).
  if (transfers && transfers.length > 0 && !transfers.includes('basic') && chunked.size === 0) {
    return bad(422, invalid.transfers);
  }
  if (objects.length === 0) return bad(422, invalid.noObjects);
  return { kind: 'batch', batch: { operation, chunked, ...sorted, asked: objects } };
}

/** What a client asks for, and whether it offers to upload in chunks. */
interface Client {
  readonly operation: BatchRequest['operation'];
  readonly sendsChunks: boolean | undefined;
  /** `tenant repo` */
  readonly place: string;
}

function objectCountOf(body: unknown): number {
  const value: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'objects') : undefined;
  return Array.isArray(value) ? value.length : 0;
}

function sortObjects(deps: ReadDeps, objects: readonly { oid: string; size: number }[], client: Client) {
  const sizes = new Map<string, number>();
  const errors = new Map<string, WireObject>();
  for (const { oid, size } of objects) {
    const first = sizes.get(oid);
    const error =
      first !== undefined && first !== size
        ? refused({ oid, size }, 422, invalid.twoSizes)
        : objectError(deps, { oid, size }, client);
    if (error) errors.set(oid, error);
    if (first === undefined) sizes.set(oid, size);
  }
  const valid = [...sizes].filter(([oid]) => !errors.has(oid));
  return { objects: new Map(valid), invalid: [...errors.values()] };
}

/** The answer of an object with an error. */
function refused(object: { oid: string; size: number }, code: number, message: string): WireObject {
  const text = isOid(object.oid) ? `${message} ${fileOf(object.oid)}` : message;
  return { ...object, error: { code, message: text } };
}

function objectError(
  { settings, way }: ReadDeps,
  object: { oid: string; size: number },
  { operation, sendsChunks, place }: Client,
): WireObject | undefined {
  const error = (message: string) => refused(object, 422, message);
  if (!isOid(object.oid)) return error(invalid.oid);
  if (!isByteCount(object.size)) return error(invalid.size);
  const largestBytes = Math.max(settings.objectBytesMax, way.bytesMax);
  if (object.size > largestBytes) return error(invalid.tooLarge(object.size, largestBytes));
  if (operation === 'upload' && !sendsChunks && object.size > settings.objectBytesMax)
    return error(chunksNeeded({ bytes: object.size, putBytesMax: settings.objectBytesMax, place }));
  return undefined;
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 40));
}

/** The answer to a batch: one for each object, in its place. @param valid what is said of those that were decoded. */
export function batchAnswer(
  { asked, invalid, chunked }: BatchRequest,
  valid: readonly WireObject[] = [],
): Saying<200, WireBatch> {
  const answers = new Map([...valid, ...invalid].map((answer) => [answer.oid, answer]));
  const objects = asked.map(({ oid, size }) => {
    const answer = answers.get(oid);
    // A client waits for ever for an oid that is not echoed, so a gap must not pass.
    if (!answer) throw new Error('An object of the batch got no verdict.');
    return { ...answer, size };
  });
  return lfs(200, { transfer: chunked.size > 0 ? chunkedTransfer : 'basic', objects, hash_algo: 'sha256' });
}

/** The repo's own URL, and for whom. `nowMs` decides whether a time needs its date. */
export interface UploadAnswerContext {
  readonly tenant: string;
  readonly lfsUrl: string;
  readonly consoleUrl: string;
  readonly nowMs: number;
}

/** One object's answer to an upload request. */
export function uploadAnswer(
  object: { oid: string; size: number },
  verdict: UploadVerdict,
  context: UploadAnswerContext,
): WireObject {
  switch (verdict.kind) {
    case 'stored':
      return object;
    case 'size-conflict':
      return sizeConflict(object, verdict.storedBytes);
    case 'upload':
      return {
        ...object,
        authenticated: true,
        actions: { upload: wireAction(verdict.put, verdict.expiresInMs), ...verifyAction(verdict, context) },
      };
    case 'chunks': {
      const href = `${context.lfsUrl}/chunks/${object.oid}/${verdict.upload}`;
      const request = { href, header: { [uploadTokenHeader]: verdict.token } };
      return {
        ...object,
        authenticated: true,
        actions: { upload: wireAction(request, verdict.expiresInMs), ...verifyAction(verdict, context) },
      };
    }
    case 'busy':
      return refused(object, 409, uploadInTheWay(verdict, context.nowMs));
    case 'no-space':
      return refused(object, 507, diskFull({ ...object, ...verdict }));
    case 'over-limit':
      return refused(
        object,
        507,
        storageLimitReached({ ...context, oid: object.oid, refusal: verdict.refusal }),
      );
  }
}

function verifyAction(
  { verifyToken, expiresInMs }: { verifyToken: string | null; expiresInMs: number },
  { lfsUrl }: UploadAnswerContext,
): { verify?: WireAction } {
  if (verifyToken === null) return {};
  const request = { href: `${lfsUrl}/verify`, header: { [verifyTokenHeader]: verifyToken } };
  return { verify: wireAction(request, expiresInMs) };
}

/** What is answered of each object of a download. @param objects oid → bytes, as they were asked for. */
export function downloadAnswers(
  objects: ReadonlyMap<string, number>,
  verdicts: ReadonlyMap<string, DownloadVerdict>,
): WireObject[] {
  return [...verdicts].map(([oid, verdict]) => downloadAnswer({ oid, size: objects.get(oid) ?? 0 }, verdict));
}

/** One object's answer to a download request. */
function downloadAnswer(object: { oid: string; size: number }, verdict: DownloadVerdict): WireObject {
  switch (verdict.kind) {
    case 'download':
      return {
        ...object,
        authenticated: true,
        actions: { download: wireAction(verdict.get, verdict.expiresInMs) },
      };
    case 'upstream':
      return {
        ...object,
        ...(verdict.isAuthenticated && { authenticated: true }),
        actions: { download: wireAction(verdict.get, verdict.expiresInMs) },
      };
    case 'missing':
      return refused(object, 404, verdict.message ?? objectNotFound);
    case 'gone':
      return refused(object, 410, objectDeleted({ ...verdict, oid: object.oid }));
    case 'size-conflict':
      return sizeConflict(object, verdict.storedBytes);
  }
}

function sizeConflict(object: { oid: string; size: number }, storedBytes: number): WireObject {
  return refused(object, 422, sizeMismatch(storedBytes, object.size));
}

/**
 * Answers a batch of somebody who has no token for the repo, if it is a download from a public one.
 *
 * @returns undefined: it is to be answered as if there were no such repo. Up to then the table was read as
 * {@link PublicAccess} says, or not at all if it is no proper download.
 */
export async function answerAnybody(
  deps: ReadDeps & Pick<LfsPorts, 'publicAccess'> & { readonly publicUrl?: string | undefined },
  event: APIGatewayProxyEventV2,
): Promise<Saying<200, WireBatch> | Refusal | undefined> {
  const { requestId } = event.requestContext;
  const [tenant, repo] = [pathTenant(event), pathRepo(event)];
  if (tenant === undefined || repo === undefined) return undefined;
  const asked = decodeEvent(deps.settings, event, batchTakes);
  const place = { tenant, repo };
  const decoded = asked.ok && asked.value ? readBatch(deps, asked.value, place) : undefined;
  if (decoded?.kind !== 'batch' || decoded.batch.operation !== 'download') return undefined;
  const offer = await deps.publicAccess?.({ ...place, lfsUrl: lfsUrlOf(event, deps.publicUrl) });
  if (!offer) return undefined;
  const { objects } = decoded.batch;
  // What counts nothing to the ceiling makes no work.
  if (objects.size === 0) return batchAnswer(decoded.batch);
  const outcome = await offer(objects);
  return outcome.kind === 'answered'
    ? batchAnswer(decoded.batch, downloadAnswers(objects, outcome.verdicts))
    : lfsError({ statusCode: 509, message: outcome.message, requestId });
}

/** The URL that the client has for the repo, with `.git` or without. */
function lfsUrlOf(event: APIGatewayProxyEventV2, publicUrl: string | undefined): string {
  return baseUrl(event, publicUrl) + event.rawPath.replace(/\/objects\/batch$/, '');
}
