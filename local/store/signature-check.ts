import { HttpRequest } from '@smithy/protocol-http';
import { SignatureV4 } from '@smithy/signature-v4';
import { NodeSha256 } from '../../lambda/domain/hash.ts';
import type { PayloadDeclaration } from './payload-declaration.ts';
import type { Signature } from './signature.ts';
import type { StoreRequest } from './store-request.ts';

/** The access key of the store. */
export interface StoreCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const payloadHeader = 'x-amz-content-sha256';

/** The signature (hex) of this request when it is signed with these credentials. */
export async function computeSignature(input: {
  request: StoreRequest;
  signature: Signature;
  payload: PayloadDeclaration;
  credentials: StoreCredentials;
}): Promise<string> {
  const { request, signature, payload, credentials } = input;
  const signer = new SignatureV4({
    service: 's3',
    region: signature.region,
    credentials,
    sha256: NodeSha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  const signedNames = new Set(signature.signedHeaders);
  const toSign = new HttpRequest({
    method: request.method,
    path: request.canonicalPath,
    query: Object.fromEntries([...request.query].filter(([name]) => name !== 'X-Amz-Signature')),
    // The signer reads the payload's declaration from this header, whether or not the header itself is signed.
    headers: { ...pick(request, signedNames), [payloadHeader]: payload.text },
  });
  const signingDate = new Date(signature.signedAtMs);
  const unsignableHeaders = new Set(signedNames.has(payloadHeader) ? [] : [payloadHeader]);
  const options = { signingDate, signableHeaders: signedNames, unsignableHeaders };
  if (signature.expiresSeconds === undefined) {
    const signed = await signer.sign(toSign, options);
    return /Signature=([0-9a-f]{64})$/.exec(signed.headers['authorization'] ?? '')?.[1] ?? '';
  }
  const signed = await signer.presign(toSign, {
    ...options,
    expiresIn: signature.expiresSeconds,
    unhoistableHeaders: new Set([...signedNames, payloadHeader]),
  });
  return String(signed.query?.['X-Amz-Signature'] ?? '');
}

function pick({ headers }: StoreRequest, names: ReadonlySet<string>): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = headers[name];
    if (value !== undefined) picked[name] = Array.isArray(value) ? value.join(',') : value;
  }
  return picked;
}
