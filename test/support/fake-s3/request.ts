import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  computeSignature,
  readSignature,
  readStoreRequest,
  type StoreCredentials,
  type StoreRequest,
} from '../../../local/store/signed-request.ts';

/** What a request could have been signed as. */
interface SignedAs {
  readonly method?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request, with its body, and with what its signature says. */
export interface FakeRequest extends StoreRequest {
  readonly body: Buffer;
  /** The client went away before the whole body was there. */
  readonly isCut: boolean;
  readonly isPresigned: boolean;
  /** Of a presigned URL. */
  readonly expiresAtMs: number;
  /** Base64. */
  readonly bodySha256: string;
  /** Whether the signature is right for this request, or would be if the request were another one. */
  isSignedAs(other?: SignedAs): Promise<boolean>;
}

export async function readRequest(
  message: IncomingMessage,
  credentials: StoreCredentials,
): Promise<FakeRequest> {
  const request = readStoreRequest(message);
  const chunks: Buffer[] = [];
  let isCut = false;
  try {
    for await (const chunk of message) chunks.push(chunk as Buffer);
  } catch {
    isCut = true;
  }
  const body = Buffer.concat(chunks);
  const isPresigned = request.query.has('X-Amz-Signature');
  const signature = isPresigned ? readSignature(request) : undefined;
  return {
    ...request,
    body,
    isCut,
    isPresigned,
    expiresAtMs: signature ? signature.signedAtMs + (signature.expiresSeconds ?? 0) * 1000 : Infinity,
    bodySha256: createHash('sha256').update(body).digest('base64'),
    isSignedAs: async ({ method = request.method, key, headers } = {}) => {
      // The SDK signs the rest in headers; the doctor's lies are about signed URLs.
      if (signature === undefined) return true;
      const other = {
        ...request,
        method,
        canonicalPath: key === undefined ? request.canonicalPath : `/${request.bucket}/${key}`,
        headers: { ...request.headers, ...headers },
      };
      const payload = 'UNSIGNED-PAYLOAD';
      return (
        (await computeSignature({ request: other, signature, payload, credentials })) === signature.value
      );
    },
  };
}
