import * as z from 'zod';
import { formatBytes, isByteCount } from '../../domain/bytes.ts';
import { isOid } from '../../domain/names.ts';
import type { Settings } from '../../domain/settings.ts';
import type { SignedRequest } from '../../ports/object-store.ts';

/** The Batch API's wire format (git-lfs docs/api/batch.md). */

const batchRequest = z.object({
  operation: z.string(),
  transfers: z.array(z.string()).optional(),
  ref: z.unknown().optional(),
  objects: z.array(z.object({ oid: z.string(), size: z.number() })),
  hash_algo: z.string().optional(),
});

/** An answer for one object; a client waits for ever for an oid that it does not find echoed. */
export interface WireObject {
  readonly oid: string;
  readonly size: number;
  readonly authenticated?: true;
  readonly actions?: Readonly<Record<string, WireAction>>;
  readonly error?: { readonly code: number; readonly message: string };
}

export interface WireAction {
  readonly href: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly expires_in?: number;
}

export interface BatchRequest {
  readonly operation: 'upload' | 'download';
  /** oid → bytes, each valid, once, in the order of the request. */
  readonly objects: ReadonlyMap<string, number>;
  /** What was refused before anything was asked, in answer form. */
  readonly invalid: readonly WireObject[];
}

export type DecodedBatch =
  | { readonly kind: 'batch'; readonly batch: BatchRequest }
  | { readonly kind: 'bad'; readonly statusCode: number; readonly message: string };

const bad = (statusCode: number, message: string): DecodedBatch => ({ kind: 'bad', statusCode, message });

/** Decodes a request's body. Errors of the whole are `bad`; those of one object stand in `invalid`. */
export function decodeBatch(settings: Settings, body: string): DecodedBatch {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return bad(400, 'The body is not valid JSON.');
  }
  const parsed = batchRequest.safeParse(value);
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
  if (objects.length > settings.batchObjectsMax) {
    return bad(
      413,
      `The request names ${objects.length} objects; at most ${settings.batchObjectsMax} are taken at once.`,
    );
  }
  return { kind: 'batch', batch: { operation, ...sortObjects(settings, objects) } };
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

/** An action from a signed request. */
export function wireAction(signed: SignedRequest, expiresInMs: number): WireAction {
  return {
    href: signed.href,
    header: signed.header,
    expires_in: Math.max(0, Math.floor(expiresInMs / 1000)),
  };
}

/** What a person reads when an object is over the limit. */
export function overLimitMessage(input: {
  tenant: string;
  repo: string;
  sizeBytes: number;
  usedBytes: number;
  limitBytes: number;
}): string {
  const { tenant, repo, sizeBytes, usedBytes, limitBytes } = input;
  const exact = (bytes: number) => `${formatBytes(bytes)} (${bytes} bytes)`;
  return (
    `over the storage limit of ${tenant}: ${exact(usedBytes)} of ${exact(limitBytes)} used, ` +
    `and this object of ${tenant}/${repo} needs ${exact(sizeBytes)}. ` +
    'Delete objects that are no longer needed, or have the limit raised, and push again.'
  );
}

/** The first thing that is wrong, in words. */
export function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  if (!issue) return 'it does not have the expected shape';
  const path = issue.path.join('.');
  return path ? `${path}: ${issue.message}` : issue.message;
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 40));
}
