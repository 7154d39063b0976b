import { JwtVerifier } from 'aws-jwt-verify';
import {
  JwtBaseError,
  JwtExpiredError,
  JwtInvalidAudienceError,
  JwtInvalidIssuerError,
  JwtInvalidSignatureError,
  JwtNotBeforeError,
  KidNotFoundInJwksError,
  ParameterValidationError,
  WaitPeriodNotYetEndedJwkError,
} from 'aws-jwt-verify/error';
import { SimpleJwksCache } from 'aws-jwt-verify/jwk';
import { parseJson } from '../../core/rules/text.ts';
import { type IdentityIssuer, type IdentityVerifier, IssuerUnavailableError } from './rules/identities.ts';

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
    throw new IssuerUnavailableError(`Can't read the keys of ${uri}.`, { cause });
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

/** Clocks of issuers and ours may differ by so much. */
const clockSkewSeconds = 60;

/** An issuer that didn't answer is asked again after this: not every identity has to wait for it. */
const failureKeptMs = 5_000;

interface VerifierOptions {
  readonly fetchKeysOf?: (uri: string) => Promise<ArrayBuffer>;
  readonly nowMs?: () => number;
}

/** The same, but a failure is that of all who ask within some seconds. */
function failingOnce(
  fetchKeysOf: (uri: string) => Promise<ArrayBuffer>,
  nowMs: () => number,
): (uri: string) => Promise<ArrayBuffer> {
  /** One for each issuer of the deployment, at most. */
  const failures = new Map<string, { readonly error: unknown; readonly untilMs: number }>();
  return async (uri) => {
    const failure = failures.get(uri);
    if (failure && nowMs() < failure.untilMs) throw failure.error;
    try {
      return await fetchKeysOf(uri);
    } catch (error) {
      failures.set(uri, { error, untilMs: nowMs() + failureKeptMs });
      throw error;
    }
  };
}

/** Whether a JWT has extensions that its reader must understand (RFC 7515, 4.1.11). None is understood here. */
function hasCritical(jwt: string): boolean {
  const header = parseJson(Buffer.from(jwt.split('.')[0] ?? '', 'base64url').toString('utf8'));
  return Object.hasOwn(header as object, 'crit');
}

/**
 * Verifies identity tokens by the public keys of their issuers, which are fetched when they are first needed and when a
 * token names one that is not known, at most once in ten seconds.
 */
export function createIdentityVerifier(
  issuers: readonly IdentityIssuer[],
  { fetchKeysOf = fetchKeys, nowMs = Date.now }: VerifierOptions = {},
): IdentityVerifier {
  if (issuers.length === 0)
    return { verify: async () => ({ kind: 'rejected', reason: 'identities are disabled' }) };
  const fetch = failingOnce(fetchKeysOf, nowMs);
  const jwksCache = new SimpleJwksCache({ fetcher: { fetch } });
  const verifier = JwtVerifier.create(
    issuers.map(({ issuer, jwksUri }) => ({
      issuer,
      jwksUri,
      audience: null,
      graceSeconds: clockSkewSeconds,
    })),
    { jwksCache },
  );
  return {
    async verify({ idToken, audience }) {
      try {
        const claims = await verifier.verify(idToken, { audience });
        // The library takes a token without an end for one that never ends.
        if (typeof claims.exp !== 'number') return { kind: 'rejected', reason: 'it has no end' };
        if (hasCritical(idToken))
          return { kind: 'rejected', reason: 'it has a header that must be understood' };
        return { kind: 'verified', issuer: String(claims.iss), claims };
      } catch (error) {
        if (error instanceof JwtBaseError) return { kind: 'rejected', reason: reasonOf(error) };
        throw error;
      }
    },
  };
}

/** In our words: the library's message may quote what somebody sent. */
function reasonOf(error: JwtBaseError): string {
  if (error instanceof JwtExpiredError) return 'it has expired';
  if (error instanceof JwtNotBeforeError) return "it isn't valid yet";
  if (error instanceof JwtInvalidIssuerError || error instanceof ParameterValidationError)
    return 'unknown issuer';
  if (error instanceof JwtInvalidAudienceError) return 'it is meant for another audience';
  if (error instanceof JwtInvalidSignatureError) return 'its signature is wrong';
  if (error instanceof KidNotFoundInJwksError || error instanceof WaitPeriodNotYetEndedJwkError)
    return 'unknown key';
  return "it isn't an identity token";
}
