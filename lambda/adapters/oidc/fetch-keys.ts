import { IssuerUnavailableError } from '../../ports/identities.ts';

const timeoutMs = 3_000;
const keysBytesMax = 100_000;

/**
 * Fetches the public keys of an issuer. It is not followed elsewhere: the operator named this place.
 *
 * @throws {IssuerUnavailableError}
 */
export async function fetchKeys(uri: string): Promise<ArrayBuffer> {
  try {
    const response = await fetch(uri, { redirect: 'error', signal: AbortSignal.timeout(timeoutMs) });
    if (!response.ok) throw new Error(`It answered ${response.status}.`);
    return await bodyOf(response);
  } catch (cause) {
    throw new IssuerUnavailableError(`The keys of ${uri} cannot be read.`, { cause });
  }
}

async function bodyOf(response: Response): Promise<ArrayBuffer> {
  const body = new Uint8Array(keysBytesMax);
  let length = 0;
  for await (const chunk of response.body ?? []) {
    if (length + chunk.byteLength > keysBytesMax)
      throw new Error(`It answered more than ${keysBytesMax} bytes.`);
    body.set(chunk, length);
    length += chunk.byteLength;
  }
  return body.slice(0, length).buffer;
}
