import { expect, it } from 'vitest';
import { publicIssuers } from '../../../../lambda/subjects/ci/rules/identities.ts';
import { readOutsiders } from '../../../../local/serve.ts';

it('trusts the issuers that it is given, and plain HTTP to those of this machine alone', () => {
  expect(readOutsiders({})).toMatchObject({ issuers: publicIssuers });
  const issuer = { kind: 'gitlab', issuer: 'https://git.example.com', jwksUri: 'http://127.0.0.1:1/keys' };
  const text = 'gitlab,https://git.example.com,http://127.0.0.1:1/keys';
  expect(readOutsiders({ issuer: [text, text] }).issuers).toEqual([issuer, issuer]);
});
