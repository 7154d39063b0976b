import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';

/** A key pair for CloudFront, as PEMs. */
export function newCdnKey(namedCurve = 'P-256') {
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'sec1', format: 'pem' },
  });
  return { privateKey, publicKey };
}

/** What CloudFront does with a request: takes its URL apart, and checks the signature of the policy that it stands for. */
export function passesCloudFront(
  href: string,
  by: { publicKey: string; keyId: string; atMs: number },
): boolean {
  const url = new URL(href);
  const {
    Expires,
    Signature = '',
    'Key-Pair-Id': keyId,
    'Hash-Algorithm': hash,
    ...others
  } = Object.fromEntries(url.searchParams);
  if (keyId !== by.keyId || Object.keys(others).length > 0 || by.atMs >= Number(Expires) * 1000) return false;
  const resource = `${url.origin}${url.pathname}`;
  const policy = {
    Statement: [{ Resource: resource, Condition: { DateLessThan: { 'AWS:EpochTime': Number(Expires) } } }],
  };
  const base64 = Signature.replaceAll('-', '+').replaceAll('_', '=').replaceAll('~', '/');
  const data = Buffer.from(JSON.stringify(policy));
  return verify(hash ?? 'sha1', data, createPublicKey(by.publicKey), Buffer.from(base64, 'base64'));
}
