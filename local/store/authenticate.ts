import { timingSafeEqual } from 'node:crypto';
import { type PayloadDeclaration, readPayloadDeclaration } from './payload-declaration.ts';
import { S3Error } from './s3-error.ts';
import { readSignature, type Signature } from './signature.ts';
import { computeSignature, type StoreCredentials } from './signature-check.ts';
import type { StoreRequest } from './store-request.ts';

/** What the signature says. */
export interface Authenticated {
  /** About the body; whoever reads the body must check it. */
  readonly payload: PayloadDeclaration;
  /** Undefined for a request that is signed in its headers. */
  readonly urlExpiresAtMs: number | undefined;
}

/** Largest difference between the time of a header-signed request and now. */
const skewMaxMs = 15 * 60_000;

/**
 * Checks that the request is signed with the store's credentials, that it is in time, and that the signature covers
 * every `x-amz-` header. A request without a signature is refused.
 *
 * @throws {S3Error}
 */
export async function authenticate(
  request: StoreRequest,
  { credentials, nowMs }: { credentials: StoreCredentials; nowMs: number },
): Promise<Authenticated> {
  const signature = readSignature(request);
  if (request.headers['x-amz-security-token'] !== undefined || request.query.has('X-Amz-Security-Token')) {
    throw new S3Error('InvalidToken', 'This store has no sessions, so no security token is valid.');
  }
  if (signature.accessKeyId !== credentials.accessKeyId) {
    throw new S3Error('InvalidAccessKeyId', 'The access key does not exist in this store.');
  }
  checkTime(signature, nowMs);
  checkSignedHeaders(request, signature);
  const payload = readPayloadDeclaration(request, signature);
  const expected = await computeSignature({ request, signature, payload, credentials });
  if (!timingSafeEqual(Buffer.from(expected, 'hex'), Buffer.from(signature.value, 'hex'))) {
    throw new S3Error(
      'SignatureDoesNotMatch',
      'The signature does not match this request: check the key, the method, the path, the query and the signed headers.',
    );
  }
  return { payload, urlExpiresAtMs: expiryOf(signature) };
}

function expiryOf({ signedAtMs, expiresSeconds }: Signature): number | undefined {
  return expiresSeconds === undefined ? undefined : signedAtMs + expiresSeconds * 1000;
}

function checkTime(signature: Signature, nowMs: number): void {
  const { signedAtMs } = signature;
  const expiresAtMs = expiryOf(signature);
  if (expiresAtMs === undefined) {
    if (Math.abs(nowMs - signedAtMs) > skewMaxMs) {
      throw new S3Error('RequestTimeTooSkewed', 'The request was signed more than 15 minutes away from now.');
    }
    return;
  }
  if (signedAtMs - nowMs > skewMaxMs) throw new S3Error('AccessDenied', 'Request is not yet valid');
  if (nowMs > expiresAtMs) throw new S3Error('AccessDenied', 'Request has expired');
}

/** Every signed header must be present, and every `x-amz-` header must be signed. */
function checkSignedHeaders({ headers }: StoreRequest, { signedHeaders }: Signature): void {
  if (!signedHeaders.includes('host')) {
    throw new S3Error('AccessDenied', 'The Host header must be among the signed headers.');
  }
  for (const name of signedHeaders) {
    if (headers[name] === undefined) {
      throw new S3Error('SignatureDoesNotMatch', `The signed header ${name} is missing from the request.`);
    }
  }
  for (const name of Object.keys(headers)) {
    if (name.startsWith('x-amz-') && !signedHeaders.includes(name)) {
      throw new S3Error(
        'AccessDenied',
        `There were headers present in the request which were not signed: ${name}`,
      );
    }
  }
}
