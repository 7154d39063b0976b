import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { SecretError } from '../../rules/errors.ts';

/** The PEM of a public key of P-256. Undefined: it's another one. CloudFront takes RSA too, but signing by it is ten times as slow. */
const pemOf = (key: KeyObject): string | undefined =>
  key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
    ? String(key.export({ type: 'spki', format: 'pem' }))
    : undefined;

/** The PEM of a public key for CloudFront, as OpenSSL writes it. Undefined: it's none. A private key isn't taken for its public one. */
export function publicKeyIn(pem: string): string | undefined {
  if (!/^-----BEGIN PUBLIC KEY-----/.test(pem)) return undefined;
  try {
    return pemOf(createPublicKey(pem));
  } catch {
    return undefined;
  }
}

/**
 * The private key from its PEM, if it belongs to the public one: with another one CloudFront rejects every URL.
 *
 * @param publicKey what {@link publicKeyIn} returned.
 * @throws {SecretError} that says what to do, and nothing of the key.
 */
export function privateKeyIn(pem: string | undefined, publicKey: string): KeyObject {
  try {
    const key = createPrivateKey(pem ?? '');
    if (pemOf(createPublicKey(key)) === publicKey) return key;
  } catch {
    // As any other text that is no such key.
  }
  throw new SecretError(
    'The secret in objectStore.cdn.privateKeyArn must be the PEM of the private key of the first of objectStore.cdn.publicKeys.',
  );
}
