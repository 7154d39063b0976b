import { createToken } from '../../use-cases/access/create-token.ts';
import { json, noContent, problem } from '../respond.ts';
import { adminTenantAccess, openTenantAccess } from './access.ts';
import type { Operation } from './operation.ts';
import { createTokenBody, decodeBody } from './requests.ts';
import { tokenBody } from './responses.ts';

export const listTokens: Operation = async (deps, event) => {
  const access = await adminTenantAccess(deps, event);
  if (!access.ok) return access.response;
  const tokens = await deps.tokens.list(access.tenant.tenant);
  return json(200, { tokens: tokens.map(tokenBody) });
};

/** The one answer that holds a token. */
export const createTokenOperation: Operation = async (deps, event) => {
  const access = await openTenantAccess(deps, event);
  if (!access.ok) return access.response;
  const decoded = decodeBody(deps.settings, event, createTokenBody);
  if (!decoded.ok) return decoded.response;
  const { scope, label = null } = decoded.body;
  const { tenant } = access.tenant;
  const { token, record } = await createToken(deps, { tenant, scope, label });
  return json(201, { ...tokenBody(record), tenant, token });
};

export const revokeToken: Operation = async (deps, event) => {
  const access = await adminTenantAccess(deps, event);
  if (!access.ok) return access.response;
  const { tenant } = access.tenant;
  const tokenId = event.pathParameters?.['tokenId'] ?? '';
  const outcome = /^[0-9a-f]{16}$/.test(tokenId) ? await deps.tokens.delete({ tenant, tokenId }) : 'absent';
  return outcome === 'deleted'
    ? noContent()
    : problem(404, 'Not Found', `The tenant ${tenant} has no token of that id.`);
};
