import type { ExchangeRules } from './rule-store.ts';
import type { IdentityIssuer, IdentityVerifier } from './rules/identities.ts';

/** Who vouches for a CI job, and which of them get tokens. */
export interface CiPorts {
  readonly identities: IdentityVerifier;
  readonly issuers: readonly IdentityIssuer[];
  readonly exchangeRules: ExchangeRules;
}
