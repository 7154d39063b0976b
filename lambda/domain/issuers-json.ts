import { parseJson } from '../rules/text.ts';
import { type IdentityIssuer, type IssuerKind, issuerKinds, publicIssuers } from './identity-issuer.ts';

/**
 * The issuers of a stage from JSON. Without it: those that everybody can use.
 *
 * @throws {Error} while the container starts: a stage must not take other identities than its operator set.
 */
export function issuersFromJson(text: string | undefined): readonly IdentityIssuer[] {
  if (text === undefined) return publicIssuers;
  const value = parseJson(text);
  if (!Array.isArray(value)) throw new Error('The issuers are no list. Deploy the stage again.');
  return value.map((each: unknown) => {
    if (!isIssuer(each)) throw new Error('An issuer lacks issuer, jwksUri or kind. Deploy the stage again.');
    return { issuer: each.issuer, jwksUri: each.jwksUri, kind: each.kind };
  });
}

/** For {@link issuersFromJson}. undefined: they are those that everybody can use. */
export function issuersToJson(issuers: readonly IdentityIssuer[]): string | undefined {
  const text = JSON.stringify(issuers);
  return text === JSON.stringify(publicIssuers) ? undefined : text;
}

function isIssuer(value: unknown): value is IdentityIssuer {
  const { issuer, jwksUri, kind } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return (
    typeof issuer === 'string' && typeof jwksUri === 'string' && issuerKinds.includes(kind as IssuerKind)
  );
}
