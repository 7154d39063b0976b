import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { encodeCursor, noQuery, pageQuery, pageSizeDefault } from '../../../api/contract/fields.ts';
import { json, noContent, type Response } from '../../../api/http.ts';
import { managerAccess, presentedBy } from '../../../api/management/access.ts';
import { problem } from '../../../api/problems.ts';
import { isListed, type TokenRecord } from '../../../domain/token.ts';
import {
  createTokenOnce,
  createToken as createTokenUseCase,
} from '../../../use-cases/access/create-token.ts';
import { requestKey } from '../idempotency.ts';
import {
  change,
  jsonBody,
  type ManagementDeps,
  noBody,
  type Operations,
  openManagerAccess,
  operation,
} from '../operation.ts';
import { tokenBody } from './bodies.ts';
import { createTokenBody } from './requests.ts';

/** By the time of their creation, a page at a time. */
const listTokens = operation(
  { access: managerAccess, query: pageQuery, body: noBody },
  async (deps, { tenant, query: { limit = pageSizeDefault, cursor } }) => {
    const page = await deps.tokens.listPage({
      tenant: tenant.tenant,
      pageSize: limit,
      ...(cursor && { cursor }),
    });
    return json(200, {
      // The table removes them some time later, if it does.
      tokens: page.tokens.filter((token) => isListed(token, deps.clock.nowMs())).map(tokenBody),
      nextCursor: page.nextCursor === null ? null : encodeCursor(page.nextCursor),
    });
  },
);

/** The one answer that holds a token. */
const createToken = change(
  { action: 'token.create', access: openManagerAccess, query: noQuery, body: jsonBody(createTokenBody) },
  async (deps, { tenant: { tenant }, body, event, trail }) => {
    const key = requestKey(event);
    if (!key.ok) return key.response;
    const { scope, label = null, user = null, repos = null, expiresInSeconds = null } = body;
    const lifetimeMs = expiresInSeconds === null ? null : expiresInSeconds * 1000;
    const grant = { tenant, scope, label, user, repos, lifetimeMs };
    const { requestKey: requestKeySent } = key;
    const outcome =
      requestKeySent === undefined
        ? { kind: 'created' as const, ...(await createTokenUseCase(deps, grant)) }
        : await createTokenOnce(deps, {
            grant,
            credential: presentedBy(event)?.secret ?? '',
            requestKey: requestKeySent,
          });
    switch (outcome.kind) {
      case 'created': {
        const { record, token } = outcome;
        trail.became(tokenBody(record));
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

const showToken = operation(
  { access: managerAccess, query: noQuery, body: noBody },
  async (deps, { tenant: { tenant }, event }) => {
    const record = await findToken(deps, { tenant, event });
    return record ? json(200, tokenBody(record)) : tokenNotFound(tenant);
  },
);

const revokeToken = change(
  { action: 'token.revoke', access: managerAccess, query: noQuery, body: noBody },
  async (deps, { tenant: { tenant }, event, trail }) => {
    const record = await findToken(deps, { tenant, event });
    if (record) trail.was(tokenBody(record));
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

export const tokenOperations = {
  'GET /v1/tenants/{tenant}/tokens': listTokens,
  'POST /v1/tenants/{tenant}/tokens': createToken,
  'GET /v1/tenants/{tenant}/tokens/{tokenId}': showToken,
  'DELETE /v1/tenants/{tenant}/tokens/{tokenId}': revokeToken,
} satisfies Operations;
