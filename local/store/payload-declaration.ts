import { notImplemented, S3Error } from './s3-error.ts';
import type { Signature } from './signature.ts';
import type { StoreRequest } from './store-request.ts';

/** What the signature says about the body. `text` is its form in the signed text. */
export type PayloadDeclaration =
  | { readonly kind: 'unsigned'; readonly text: string }
  | { readonly kind: 'hashed'; readonly text: string; readonly sha256Hex: string }
  /** Framed in chunks, with checksums as trailers. */
  | { readonly kind: 'chunked'; readonly text: string };

/** @throws {S3Error} when it is missing, invalid, or not supported by this store. */
export function readPayloadDeclaration(request: StoreRequest, signature: Signature): PayloadDeclaration {
  const text = declaredText(request, signature);
  if (text === 'UNSIGNED-PAYLOAD') return { kind: 'unsigned', text };
  if (text === 'STREAMING-UNSIGNED-PAYLOAD-TRAILER') return { kind: 'chunked', text };
  if (/^[0-9a-f]{64}$/.test(text)) return { kind: 'hashed', text, sha256Hex: text };
  if (text.startsWith('STREAMING-')) throw notImplemented(`the payload ${text.slice(0, 100)}`);
  throw new S3Error('InvalidArgument', 'x-amz-content-sha256 must be a SHA-256 in hex, or UNSIGNED-PAYLOAD.');
}

function declaredText({ headers, query }: StoreRequest, { expiresSeconds }: Signature): string {
  const header = headers['x-amz-content-sha256'];
  if (expiresSeconds === undefined) {
    if (typeof header !== 'string') {
      throw new S3Error('InvalidRequest', 'Missing required header for this request: x-amz-content-sha256');
    }
    return header;
  }
  const presigned = query.get('X-Amz-Content-Sha256') ?? 'UNSIGNED-PAYLOAD';
  if (header !== undefined && header !== presigned) {
    throw new S3Error('InvalidArgument', 'x-amz-content-sha256 differs from what the URL was signed for.');
  }
  return presigned;
}
