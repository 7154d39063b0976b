/** Whose identity tokens a stage takes. The operator's setting, never a tenant's: its keys are fetched from there. */
export interface IdentityIssuer {
  /** The claim `iss` of its tokens. */
  readonly issuer: string;
  /** Where its public keys are (JWKS). */
  readonly jwksUri: string;
  /** How it names repositories and who owns them. */
  readonly kind: IssuerKind;
}

export const issuerKinds = ['github', 'gitlab'] as const;
export type IssuerKind = (typeof issuerKinds)[number];

/**
 * Claims that name a repository, or its owner, by a number that nobody can take over; a name can be registered anew by
 * somebody else. A rule must demand one of them, or it would let in every job of the host.
 *
 * @see https://docs.github.com/en/actions/reference/security/oidc
 * @see https://docs.gitlab.com/ci/secrets/id_token_authentication/
 */
export const pinningClaims: Readonly<Record<IssuerKind, readonly string[]>> = {
  github: ['repository_id', 'repository_owner_id'],
  gitlab: ['project_id', 'namespace_id'],
};

/** The hosts that everybody can use. Without a rule of a tenant their tokens are worth nothing. */
export const publicIssuers: readonly IdentityIssuer[] = [
  {
    issuer: 'https://token.actions.githubusercontent.com',
    jwksUri: 'https://token.actions.githubusercontent.com/.well-known/jwks',
    kind: 'github',
  },
  { issuer: 'https://gitlab.com', jwksUri: 'https://gitlab.com/oauth/discovery/keys', kind: 'gitlab' },
];
