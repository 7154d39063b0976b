import { firstIssue } from '../../api/json.ts';
import { isOid } from '../../rules/names.ts';
import type { Settings } from '../../rules/settings.ts';
import { formatBytes, isByteCount, parseJson } from '../../rules/text.ts';
import { batchRequestSchema, type WireObject } from './schemas.ts';

export interface BatchRequest {
  readonly operation: 'upload' | 'download';
  /** oid → bytes, each valid, once, in the order of the request. */
  readonly objects: ReadonlyMap<string, number>;
  /** What was refused while decoding, as it is answered. */
  readonly invalid: readonly WireObject[];
}

export type DecodedBatch =
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
