import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Deps } from '../../deps.ts';
import { type DownloadVerdict, offerPublicly } from '../../downloads/downloads.ts';
import { crowdedClaims } from '../../ledger/rules/tenant.ts';
import type { Refusal, UploadVerdict } from '../../ledger/upload-batch.ts';
import { findPublicRepo } from '../../people/authenticate-person.ts';
import { publicTokenId } from '../../people/rules/git-hosts.ts';
import { dayOf } from '../../rules/dates.ts';
import { isOid } from '../../rules/names.ts';
import type { Settings } from '../../rules/settings.ts';
import { formatBytes, isByteCount } from '../../rules/sizes.ts';
import { parseJson } from '../../rules/text.ts';
import type { SignedRequest } from '../../store/rules/store.ts';
import { batchRequestSchema, type WireAction, type WireObject } from '../contract/lfs.ts';
import { baseUrl, pathRepo, pathTenant, type Response } from '../http.ts';
import { firstIssue } from '../json.ts';
import { lfs, lfsBody, lfsError, verifyTokenHeader } from './http.ts';

export interface BatchRequest {
  readonly operation: 'upload' | 'download';
  /** oid → bytes, each valid, once, in the order of the request. */
  readonly objects: ReadonlyMap<string, number>;
  /** What was refused while decoding, as it is answered. */
  readonly invalid: readonly WireObject[];
}

type DecodedBatch =
  | { readonly kind: 'batch'; readonly batch: BatchRequest }
  | { readonly kind: 'bad'; readonly statusCode: number; readonly message: string };

const bad = (statusCode: number, message: string): DecodedBatch => ({ kind: 'bad', statusCode, message });

/** Decodes a request's body. An error of the whole is `bad`. The errors of single objects stand in `invalid`. */
export function decodeBatch(settings: Settings, body: string): DecodedBatch {
  const value = parseJson(body);
  if (value === undefined) return bad(400, 'The body is not valid JSON.');
  // It has a status of its own.
  const objectCount = objectCountOf(value);
  if (objectCount > settings.batchObjectsMax) {
    return bad(
      413,
      `The request names ${objectCount} objects; at most ${settings.batchObjectsMax} are taken at once.`,
    );
  }
  const parsed = batchRequestSchema.safeParse(value);
  if (!parsed.success) return bad(422, `The batch request is malformed: ${firstIssue(parsed.error)}.`);
  const { operation, transfers, objects, hash_algo } = parsed.data;
  if (operation !== 'upload' && operation !== 'download') {
    return bad(422, `Unknown operation ${quote(operation)}: it must be "upload" or "download".`);
  }
  if (hash_algo !== undefined && hash_algo !== 'sha256') {
    return bad(409, `Unknown hash algorithm ${quote(hash_algo)}: only sha256 is supported.`);
  }
  // An absent or empty list means basic (docs/api/batch.md).
  if (transfers && transfers.length > 0 && !transfers.includes('basic')) {
    return bad(422, 'None of the transfer adapters is supported: offer "basic".');
  }
  if (objects.length === 0) return bad(422, 'The request names no objects.');
  return { kind: 'batch', batch: { operation, ...sortObjects(settings, objects) } };
}

function objectCountOf(body: unknown): number {
  const value: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'objects') : undefined;
  return Array.isArray(value) ? value.length : 0;
}

function sortObjects(settings: Settings, objects: readonly { oid: string; size: number }[]) {
  const sizes = new Map<string, number>();
  const errors = new Map<string, WireObject>();
  for (const { oid, size } of objects) {
    const first = sizes.get(oid);
    const error =
      first !== undefined && first !== size ? conflict(oid, size) : objectError(settings, { oid, size });
    if (error) errors.set(oid, error);
    if (first === undefined) sizes.set(oid, size);
  }
  const valid = [...sizes].filter(([oid]) => !errors.has(oid));
  return { objects: new Map(valid), invalid: [...errors.values()] };
}

function conflict(oid: string, size: number): WireObject {
  return {
    oid,
    size,
    error: { code: 422, message: 'The request names this object twice, with different sizes.' },
  };
}

function objectError(settings: Settings, object: { oid: string; size: number }): WireObject | undefined {
  const error = (message: string): WireObject => ({ ...object, error: { code: 422, message } });
  if (!isOid(object.oid)) return error('The oid is not a SHA-256: it must be 64 lower-case hex digits.');
  if (!isByteCount(object.size)) return error('The size must be a whole number of bytes, 0 or more.');
  if (object.size > settings.objectBytesMax) {
    const limit = formatBytes(settings.objectBytesMax);
    return error(`The object has ${formatBytes(object.size)}; one upload takes ${limit} at most.`);
  }
  return undefined;
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 40));
}

/** Digits of an oid that tell it from all others of a repo. */
const oidPrefixDigits = 12;

/**
 * What a person reads when an object is over the limit. git-lfs prints it once or twice for each object, so the first
 * of a batch tells all, and the others refer to it.
 */
export function overLimitMessage(input: {
  tenant: string;
  oid: string;
  refusal: Refusal;
  nowMs: number;
}): string {
  const { tenant, oid, refusal } = input;
  const [first = oid] = refusal.oids;
  const whose = refusal.repo === null ? tenant : `the repo ${tenant}/${refusal.repo}`;
  if (oid !== first) return `over the storage limit of ${whose}, as told for ${prefixOf(first)}`;
  const { askedCount, limitBytes, missingBytes, oids } = refusal;
  return [
    `over the storage limit of ${whose}: ${takenUp(refusal)}, and the limit is ${exact(limitBytes)}.`,
    `${oids.length} of the ${askedCount} objects in this request ${oids.length === 1 ? 'is' : 'are'} refused:`,
    `${oids.length === 1 ? 'it needs' : 'together they need'} ${exact(missingBytes)} more than there is.`,
    ...waysOut(input),
    `Find the file of an object: git lfs ls-files -l | grep ${prefixOf(oid)}`,
  ].join(' ');
}

function takenUp({ storedBytes, reservedBytes }: Refusal): string {
  const stored = `${exact(storedBytes)} stored`;
  return reservedBytes === 0 ? stored : `${stored}, ${exact(reservedBytes)} promised to uploads under way`;
}

function waysOut(input: { tenant: string; refusal: Refusal; nowMs: number }): string[] {
  const { tenant, refusal, nowMs } = input;
  const { storedBytes, reservedUntilMs, isWaitingEnough } = refusal;
  const raise = storedBytes > 0 ? 'Delete what is no longer needed, or have' : 'Have';
  const anyway = `${raise} the limit raised, and push again.`;
  if (reservedUntilMs === null) return [anyway];
  const until = formatTime(reservedUntilMs, nowMs);
  const freed = `What those uploads (lfs-quota reservation list ${tenant}) do not bring by ${until} is free again then`;
  return isWaitingEnough
    ? [`${freed}, unless others take it: push again at that time, or have the limit raised.`]
    : [`${freed}, but that is not enough.`, anyway];
}

const manyClaims = crowdedClaims.toLocaleString('en-US');

/** What you read if you've claimed too much that never arrived. @param again when to ask again. */
export function lateMessage(input: {
  tenant: string;
  untilMs: number;
  nowMs: number;
  again: string;
}): string {
  const { tenant, untilMs, nowMs, again } = input;
  return [
    'You started uploads that never arrived. They still may, and are more than a tenth of the limit, or more than',
    `${manyClaims} objects, so other objects wait until ${formatTime(untilMs, nowMs)}. Push the same objects again,`,
    'unless they are that many, or ask the operator to cancel those uploads:',
    `lfs-quota reservation list ${tenant}.`,
    again,
  ].join(' ');
}

/** `20:06 UTC`, or with its date if that is another day. Rounded up to the minute, so that it is not too early. */
function formatTime(timeMs: number, nowMs: number): string {
  const [date = '', time = ''] = isoMinute(Math.ceil(timeMs / 60_000) * 60_000);
  const [today] = isoMinute(nowMs);
  return date === today ? `${time} UTC` : `${date} ${time} UTC`;
}

function isoMinute(timeMs: number): string[] {
  return new Date(timeMs).toISOString().slice(0, 16).split('T');
}

function exact(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  return `${formatBytes(bytes)} (${bytes} bytes)`;
}

function prefixOf(oid: string): string {
  return oid.slice(0, oidPrefixDigits);
}

/** The answer to a batch, with what is said of each of its objects. */
export function batchAnswer(objects: readonly WireObject[]): Response {
  return lfs(200, { transfer: 'basic', objects, hash_algo: 'sha256' });
}

/** Where an upload is verified, and for whom. `nowMs` decides whether a time needs its date. */
interface UploadAnswerContext {
  readonly tenant: string;
  readonly repo: string;
  readonly verifyUrl: string;
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
        actions: {
          upload: wireAction(verdict.put, verdict.expiresInMs),
          ...(verdict.verifyToken !== null && {
            verify: wireAction(
              { href: context.verifyUrl, header: { [verifyTokenHeader]: verdict.verifyToken } },
              verdict.expiresInMs,
            ),
          }),
        },
      };
    case 'over-limit':
      return {
        ...object,
        error: {
          code: 507,
          message: overLimitMessage({ ...context, oid: object.oid, refusal: verdict.refusal }),
        },
      };
  }
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
    case 'missing':
      return { ...object, error: { code: 404, message: 'The object is not stored here.' } };
    case 'gone':
      return { ...object, error: { code: 410, message: goneMessage(verdict.atMs) } };
    case 'size-conflict':
      return sizeConflict(object, verdict.storedBytes);
  }
}

function goneMessage(atMs: number): string {
  const day = new Date(atMs).toISOString().slice(0, 10);
  return (
    `The object was deleted by a clean-up on ${day}: no branch or tag needed it. ` +
    'From a clone that still has it, it can be pushed again: git lfs push --all.'
  );
}

function sizeConflict(object: { oid: string; size: number }, storedBytes: number): WireObject {
  const message = `The object is stored with ${storedBytes} bytes, and the request says ${object.size}.`;
  return { ...object, error: { code: 422, message } };
}

/** An action from a signed request. */
function wireAction(signed: SignedRequest, expiresInMs: number): WireAction {
  return {
    href: signed.href,
    header: signed.header,
    expires_in: Math.max(0, Math.floor(expiresInMs / 1000)),
  };
}

/** What git-lfs prints, once, when a month's downloads are used up. */
export function downloadLimitMessage(refusal: {
  tenant: string;
  limitBytes: number;
  offeredBytes: number;
  askedBytes: number;
  resetsAtMs: number;
}): string {
  const { tenant, limitBytes, offeredBytes, askedBytes, resetsAtMs } = refusal;
  return (
    `The downloads of ${tenant} for this month are used up: ${formatBytes(offeredBytes)} of ` +
    `${formatBytes(limitBytes)} were offered, and this asks for ${formatBytes(askedBytes)}. ` +
    `They begin anew on ${dayOf(resetsAtMs)} (UTC). Until then, only a higher limit lets more through: ask whoever runs ` +
    'this service. Pushes are not affected.'
  );
}

/** The same for somebody without a token, when the repo's ceiling is reached. */
function publicLimitMessage(refusal: {
  tenant: string;
  repo: string;
  /** As the client has it. It sends a token unasked only if it knows that this URL needs one. */
  lfsUrl: string;
  limitBytes: number;
  offeredBytes: number;
  askedBytes: number;
  resetsAtMs: number;
}): string {
  const { tenant, repo, lfsUrl, limitBytes, offeredBytes, askedBytes, resetsAtMs } = refusal;
  return (
    `The public downloads of ${tenant}/${repo} for this month are used up: ${formatBytes(offeredBytes)} of ` +
    `${formatBytes(limitBytes)} were offered, and this asks for ${formatBytes(askedBytes)}. ` +
    `They begin anew on ${dayOf(resetsAtMs)} (UTC). Until then it takes an access token of ${tenant}. If you have one, ` +
    `make git-lfs send it: git config --global lfs.${lfsUrl}.access basic`
  );
}

/** The same when it is the tenant's own limit. Its numbers are not for strangers. */
function strangerLimitMessage({ tenant, resetsAtMs }: { tenant: string; resetsAtMs: number }): string {
  return (
    `The downloads of ${tenant} for this month are used up. They begin anew on ${dayOf(resetsAtMs)} (UTC). ` +
    'Until then, only whoever runs this service can let more through.'
  );
}

type PublicDownloadDeps = Parameters<typeof offerPublicly>[0] &
  Pick<Deps, 'publicReads' | 'ledger'> & { readonly publicUrl?: string | undefined };

/**
 * Answers a batch of somebody who has no token for the repo, if it is a download from a public one.
 *
 * @returns undefined: it is to be answered as if there were no such repo. Up to then one item of the table was read, or
 * none if it is no proper download.
 */
export async function answerAnybody(
  deps: PublicDownloadDeps,
  event: APIGatewayProxyEventV2,
): Promise<Response | undefined> {
  const { requestId } = event.requestContext;
  const [tenantName, repo] = [pathTenant(event), pathRepo(event)];
  if (tenantName === undefined || repo === undefined) return undefined;
  const body = lfsBody(deps.settings, event);
  const decoded = body.ok ? decodeBatch(deps.settings, body.body) : undefined;
  if (decoded?.kind !== 'batch' || decoded.batch.operation !== 'download') return undefined;
  const found = await findPublicRepo(deps, { tenant: tenantName, repo });
  if (!found) return undefined;
  const { tenant, publicRead, repo: record } = found;
  const { objects, invalid } = decoded.batch;
  // What counts nothing to the ceiling makes no work.
  if (objects.size === 0) return batchAnswer(invalid);
  const repoObjects = record && record.epoch > 0 ? record.objectCount : undefined;
  const outcome = await offerPublicly(deps, { tenant, publicRead, repoObjects, objects });
  if (outcome.kind === 'answered')
    return batchAnswer([...downloadAnswers(objects, outcome.verdicts), ...invalid]);
  const place = { tenant: tenantName, repo };
  deps.log.info('downloads refused', {
    ...place,
    tokenId: publicTokenId,
    askedBytes: outcome.askedBytes,
    isCeiling: outcome.kind === 'over-ceiling',
  });
  const message =
    outcome.kind === 'over-ceiling'
      ? publicLimitMessage({ ...outcome, ...place, lfsUrl: lfsUrlOf(event, deps.publicUrl) })
      : strangerLimitMessage({ ...outcome, ...place });
  return lfsError({ statusCode: 509, message, requestId });
}

/** The URL that the client has for the repo, with `.git` or without. */
function lfsUrlOf(event: APIGatewayProxyEventV2, publicUrl: string | undefined): string {
  return baseUrl(event, publicUrl) + event.rawPath.replace(/\/objects\/batch$/, '');
}
