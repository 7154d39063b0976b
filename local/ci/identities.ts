import { createIdentityVerifier } from '../../lambda/subjects/ci/identity-verifier.ts';
import {
  type IdentityIssuer,
  issuerKinds,
  publicIssuers,
} from '../../lambda/subjects/ci/rules/identities.ts';
import type { SubjectPorts } from '../subject-ports.ts';
import { StartupError } from '../system/durable-file.ts';

interface Trusted {
  /** Whose identity tokens are taken. Default: GitHub Actions and gitlab.com. */
  readonly issuers?: readonly IdentityIssuer[] | undefined;
}

export const ci = {
  create: ({ issuers = publicIssuers }: Trusted) => ({
    issuers,
    identities: createIdentityVerifier(issuers),
  }),
  options: {
    /** @throws {StartupError} */
    issuers: ({ issuer = [] }: { issuer?: readonly string[] }) =>
      issuer.length > 0 ? issuer.map(readIssuer) : publicIssuers,
  },
} as const satisfies SubjectPorts;

function readIssuer(text: string): IdentityIssuer {
  const [name, issuer = '', jwksUri = '', ...rest] = text.split(',');
  const kind = issuerKinds.find((each) => each === name);
  const areAddresses = [issuer, jwksUri].every(
    (address) => /^https?:/.test(address) && URL.canParse(address),
  );
  if (kind && areAddresses && rest.length === 0) return { kind, issuer, jwksUri };
  const example = 'gitlab,https://git.example.com,https://git.example.com/oauth/discovery/keys';
  throw new StartupError(`--issuer takes KIND,ISSUER,JWKS such as ${example}.`);
}
