import { z } from 'zod';
import { issuerKinds, issuersToJson, publicIssuers } from '../../../lambda/subjects/ci/rules/identities.ts';

const identityIssuer = z.strictObject({
  issuer: z
    .string()
    .max(512)
    .regex(/^https:\/\/[^\s?#]+[^\s?#/]$/, 'must be a URL that starts with https, without a trailing slash')
    .describe('The claim `iss`, such as https://gitlab.example.com.'),
  jwksUri: z
    .string()
    .max(512)
    .regex(/^https:\/\/\S+$/, 'must start with https')
    .describe('URL of its public keys, such as https://gitlab.example.com/oauth/discovery/keys.'),
  kind: z.enum(issuerKinds).describe('Which claims it uses.'),
});

const setting = z
  .array(identityIssuer)
  .max(20)
  .refine(
    (issuers) => new Set(issuers.map(({ issuer }) => issuer)).size === issuers.length,
    'has an issuer twice',
  )
  .default(publicIssuers.map((issuer) => ({ ...issuer })))
  .describe(
    'Issuers of CI identity tokens: docs/team-admins.md#ci-without-a-stored-secret. Default: GitHub Actions and gitlab.com. []: none.',
  );

export const identityIssuers = { setting, toJson: issuersToJson };
