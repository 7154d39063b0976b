import type { Claims } from '../domain/exchange-rule.ts';

type VerifiedIdentity =
  | { readonly kind: 'verified'; readonly issuer: string; readonly claims: Claims }
  /** The reason is for the log. Who asks must not learn it. */
  | { readonly kind: 'rejected'; readonly reason: string };

/** Checks identity tokens (JWT of OpenID Connect) of the stage's issuers. */
export interface IdentityVerifier {
  /**
   * Checks signature, issuer, audience and end.
   *
   * @throws {IssuerUnavailableError} its keys are not known, and it does not answer.
   */
  verify(input: { idToken: string; audience: string }): Promise<VerifiedIdentity>;
}

/** The keys of an issuer cannot be had now. Nothing is known of the token. */
export class IssuerUnavailableError extends Error {
  override readonly name = 'IssuerUnavailableError';
}
