import { pageQuery } from '../../../api/contract/fields.ts';
import type { OperationDocs } from '../../operation-docs.ts';
import { createTokenBody } from './requests.ts';
import { newTokenSchema, tokenPageSchema, tokenSchema } from './schemas.ts';

const token = {
  tokenId: '5f0c1e2d3b4a5968',
  scope: 'write',
  label: 'build machine',
  user: 'ci@acme.example',
  repos: null,
  createdAt: '2026-11-21T05:00:00Z',
  expiresAt: '2027-02-19T05:00:00Z',
  lastUsedAt: null,
};

/** Access tokens. */
export const tokenDocs = {
  'GET /v1/tenants/{tenant}/tokens': {
    id: 'listTokens',
    summary: 'The tokens of a tenant, by the time of their creation',
    description:
      'A page may be shorter than asked for without being the last: what expired long ago is not shown.',
    access: 'manager',
    query: pageQuery,
    answers: {
      200: {
        description: 'One page, without the secrets.',
        schema: tokenPageSchema,
        example: { tokens: [token], nextCursor: null },
      },
    },
    problems: ['tenant-not-found'],
  },
  'POST /v1/tenants/{tenant}/tokens': {
    id: 'createToken',
    summary: 'Create a token',
    access: 'manager',
    action: 'token.create',
    takesRequestKey: true,
    body: {
      schema: createTokenBody,
      example: {
        scope: 'write',
        label: 'build machine',
        user: 'ci@acme.example',
        expiresInSeconds: 7_776_000,
      },
    },
    answers: {
      201: {
        description: 'The token with its secret, which is answered this once.',
        schema: newTokenSchema,
        example: { ...token, tenant: 'acme', token: 'lfsq_…' },
        headers: { Location: 'Path of the token.' },
      },
    },
    problems: ['tenant-not-found', 'tenant-closed', 'token-revoked'],
  },
  'GET /v1/tenants/{tenant}/tokens/{tokenId}': {
    id: 'getToken',
    summary: 'A token, without its secret',
    access: 'manager',
    answers: { 200: { description: 'The token.', schema: tokenSchema, example: token } },
    problems: ['tenant-not-found', 'token-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/tokens/{tokenId}': {
    id: 'revokeToken',
    summary: 'Revoke a token immediately',
    description: 'URLs that were signed for it stay valid until they expire, after 30 minutes at most.',
    access: 'manager',
    action: 'token.revoke',
    answers: { 204: { description: 'The token is revoked.' } },
    problems: ['tenant-not-found', 'token-not-found'],
  },
} satisfies OperationDocs;
