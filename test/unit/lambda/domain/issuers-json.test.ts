import { describe, expect, it } from 'vitest';
import { publicIssuers } from '../../../../lambda/domain/identity-issuer.ts';
import { issuersFromJson, issuersToJson } from '../../../../lambda/domain/issuers-json.ts';

const own = {
  issuer: 'https://git.example.com',
  jwksUri: 'https://git.example.com/keys',
  kind: 'gitlab',
} as const;

describe('the issuers of a stage', () => {
  it.each([[[]], [[own]], [[own, ...publicIssuers]]])('go through the environment: %j', (issuers) => {
    const text = issuersToJson(issuers);
    expect(text).toBeTypeOf('string');
    expect(issuersFromJson(text)).toEqual(issuers);
  });

  it('need no variable if they are the public ones', () => {
    expect(issuersToJson(publicIssuers)).toBeUndefined();
    expect(issuersFromJson(undefined)).toEqual(publicIssuers);
  });

  it.each([
    '',
    '{}',
    'null',
    '[null]',
    '[{}]',
    '["x"]',
    JSON.stringify([{ ...own, kind: 'other' }]),
    JSON.stringify([{ ...own, issuer: 7 }]),
    JSON.stringify([{ ...own, jwksUri: null }]),
  ])('are not taken from %j', (text) => {
    expect(() => issuersFromJson(text)).toThrow(/Deploy the stage again/);
  });

  it('are by default GitHub and GitLab, whose keys are where they say', () => {
    expect(publicIssuers).toEqual([
      {
        issuer: 'https://token.actions.githubusercontent.com',
        jwksUri: 'https://token.actions.githubusercontent.com/.well-known/jwks',
        kind: 'github',
      },
      { issuer: 'https://gitlab.com', jwksUri: 'https://gitlab.com/oauth/discovery/keys', kind: 'gitlab' },
    ]);
  });
});
