import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { TokenRecord } from '../../ports/credentials.ts';
import { createTokenOnce, createToken as createTokenUseCase } from '../../use-cases/access/create-token.ts';
import { problem } from '../problems.ts';
import { credential } from '../request.ts';
import { json, noContent, type Response } from '../respond.ts';
import { adminTenantAccess, openTenantAccess } from './access.ts';
import { encodeCursor } from './cursor.ts';
import { requestKey } from './idempotency.ts';
import { jsonBody, type ManagementDeps, noBody, operation } from './operation.ts';
import { createTokenBody, noQuery, pageQuery, pageSizeDefault } from './requests.ts';
import { tokenBody } from './responses.ts';

/** By the time of their creation, a page at a time. */
export const listTokens = operation(
  { access: adminTenantAccess, query: pageQuery, body: noBody },
  async (deps, { tenant, query: { limit = pageSizeDefault, cursor } }) => {
    const page = await deps.tokens.listPage({
      tenant: tenant.tenant,
      pageSize: limit,
      ...(cursor && { cursor }),
    });
    return json(200, {
      tokens: page.tokens.map(tokenBody),
      nextCursor: page.nextCursor === null ? null : encodeCursor(page.nextCursor),
    });
  },
);

/** The one answer that holds a token. */
export const createToken = operation(
  { access: openTenantAccess, query: noQuery, body: jsonBody(createTokenBody) },
  async (deps, { tenant: { tenant }, body: { scope, label = null }, event }) => {
    const key = requestKey(event);
    if (!key.ok) return key.response;
    const grant = { tenant, scope, label };
    const { requestKey: requestKeySent } = key;
    const outcome =
      requestKeySent === undefined
        ? { kind: 'created' as const, ...(await createTokenUseCase(deps, grant)) }
        : await createTokenOnce(deps, {
            grant,
            credential: credential(event) ?? '',
            requestKey: requestKeySent,
          });
    switch (outcome.kind) {
      case 'created': {
        const { record, token } = outcome;
        const location = `/v1/tenants/${tenant}/tokens/${record.tokenId}`;
        return json(201, { ...tokenBody(record), tenant, token }, { location });
      }
      case 'revoked':
        return problem('token-revoked', 'The token that this key created was revoked. Use a new key.');
      case 'key-reused':
        return key.reused();
    }
  },
);

export const showToken = operation(
  { access: adminTenantAccess, query: noQuery, body: noBody },
  async (deps, { tenant: { tenant }, event }) => {
    const record = await findToken(deps, { tenant, event });
    return record ? json(200, tokenBody(record)) : tokenNotFound(tenant);
  },
);

export const revokeToken = operation(
  { access: adminTenantAccess, query: noQuery, body: noBody },
  async (deps, { tenant: { tenant }, event }) => {
    const record = await findToken(deps, { tenant, event });
    const outcome = record && (await deps.tokens.delete({ tenant, tokenId: record.tokenId }));
    return outcome === 'deleted' ? noContent() : tokenNotFound(tenant);
  },
);

/** The token of the path, if it is one of this tenant. */
async function findToken(
  deps: Pick<ManagementDeps, 'tokens'>,
  input: { tenant: string; event: APIGatewayProxyEventV2 },
): Promise<TokenRecord | undefined> {
  const tokenId = input.event.pathParameters?.['tokenId'] ?? '';
  const record = /^[0-9a-f]{16}$/.test(tokenId) ? await deps.tokens.find(tokenId) : undefined;
  return record?.tenant === input.tenant ? record : undefined;
}

function tokenNotFound(tenant: string): Response {
  return problem('token-not-found', `The tenant ${tenant} has no token of that id.`);
}
