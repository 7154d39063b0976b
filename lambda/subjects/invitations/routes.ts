import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { lastingTokenId } from '../../frame/access/rules/tokens.ts';
import { baseUrl, json, noContent } from '../../frame/api/http.ts';
import { problem } from '../../frame/api/problems.ts';
import { iso } from '../../frame/contract/fields.ts';
import { isManager } from '../../frame/management/access.ts';
import {
  jsonBody,
  type Operation,
  operationsFor,
  pathId,
  readRequestKey,
} from '../../frame/management/operations.ts';
import { tokenBody } from '../../frame/management/tokens.ts';
import { type InvitationBody, invitationContract, invitedSecondsDefault } from './contract.ts';
import {
  acceptInvitation,
  approveDevice,
  deviceGrant,
  findDevice,
  invite,
  startDevice,
} from './invitations.ts';
import type { InvitationPorts } from './ports.ts';
import { type InvitationRecord, isKept, isWithin } from './rules/invitations.ts';

type Needs = Pick<CoreDeps, 'ids'> & InvitationPorts & { readonly publicUrl?: string | undefined };

export const invitationOperations = operationsFor<Needs>()(invitationContract, {
  'GET /v1/tenants/{tenant}/invitations': async (deps, { tenant: { tenant } }) => {
    const nowMs = deps.clock.nowMs();
    const open = (await deps.invitations.list(tenant)).filter(
      (each) => !each.accepted && isKept(each, nowMs),
    );
    return json(200, { invitations: open.map(invitationBody) });
  },

  /** The one answer that holds its link. */
  'POST /v1/tenants/{tenant}/invitations': async (
    deps,
    { tenant: { tenant }, token, body, event, trail },
  ) => {
    const { scope = 'write', repos = null, user = null, expiresInSeconds = invitedSecondsDefault } = body;
    const lifetimeMs = expiresInSeconds * 1000;
    const outcome = await invite(deps, { tenant, scope, repos, user, lifetimeMs, token });
    if (outcome.kind === 'full')
      return problem('invitations-full', `${tenant} has the maximum of open invitations. Revoke one first.`);
    const shown = invitationBody(outcome.record);
    trail.became(shown);
    return json(201, { ...shown, link: `${baseUrl(event, deps.publicUrl)}/#_join/${outcome.secret}` });
  },

  'DELETE /v1/tenants/{tenant}/invitations/{invitationId}': async (
    deps,
    { tenant: { tenant }, event, trail },
  ) => {
    const invitationId = pathId(event, 'invitationId');
    const found = invitationId && (await deps.invitations.find({ tenant, invitationId }));
    if (found) trail.was(invitationBody(found));
    if (found && (await deps.invitations.delete(found)) === 'deleted') return noContent();
    return problem('invitation-not-found', `${tenant} has no open invitation with that id.`);
  },

  /** Anybody with a token can approve a machine of theirs. Nothing is written, nor audited, before it's known that they may. */
  'POST /v1/tenants/{tenant}/device': async (deps, { tenant: { tenant }, query, body, ...reader }) => {
    const { token } = reader;
    const parent = isManager(reader) ? undefined : token;
    const own = parent ?? { scope: 'write', repos: null };
    const { userCode, scope = own.scope, repos = own.repos, user = token?.user ?? null } = body;
    const lasts = parent && lastingTokenId(parent) !== undefined && parent.parentId === undefined;
    if (parent && !(lasts && isWithin(parent, { scope, repos, user })))
      return problem('scope-too-small', ownOnly);
    const found = await findDevice(deps, { by: parent?.tokenId ?? tenant, typed: userCode });
    if (found.kind === 'too-many-tries') {
      const detail = 'Too many wrong codes. Wait 10 minutes, then start the login again.';
      return problem('device-tries', detail, { 'retry-after': '600' });
    }
    if (found.kind === 'absent') return deviceNotFound();
    const { device } = found;
    if (found.kind === 'approved')
      return deviceNotFound(`This login is already approved: ${device.machine} got its token.`);
    const made = deviceGrant(deps, { device, tenant, scope, repos, user, parent });
    const { tokenId, expiresAtMs } = made;
    const { machine, address = null } = device;
    const shown = {
      machine,
      tokenId,
      scope,
      user,
      address,
      repos: repos && [...repos],
      expiresAt: iso(expiresAtMs),
    };
    if (query.dryRun) return json(200, shown);
    return async (trail) => {
      const outcome = await approveDevice(deps, { device, token: made });
      if (outcome === 'absent') return deviceNotFound();
      if (outcome === 'too-many')
        return problem('devices-full', 'You have approved too many machines. Ask a tenant admin.');
      trail.became(shown);
      return json(200, shown);
    };
  },
});

/** A command line asks so often whether it's approved. */
const intervalSeconds = 5;

type AcceptNeeds = Parameters<typeof acceptInvitation>[0] &
  Parameters<typeof startDevice>[0] &
  Pick<CoreDeps, 'settings'>;

/** What somebody without a token can do to get one. */
export const acceptOperations = {
  /** The same words for each refusal. Of the request nothing is logged: it may hold somebody's secret. */
  'POST /v1/invitations/accept': async (deps, event) => {
    const decoded = jsonBody(deps, event, invitationContract['POST /v1/invitations/accept'].body);
    if (!decoded.ok) return decoded.response;
    const key = readRequestKey(event);
    if (!key.ok) return key.response;
    const { secret, user = null } = decoded.body;
    const { requestKey } = key;
    const { requestId } = event.requestContext;
    const outcome = await acceptInvitation(deps, { secret, user, requestKey, requestId });
    if (outcome.kind === 'rejected') {
      deps.log.info('invitation rejected', { reason: outcome.reason });
      const detail = 'The link is wrong, used, expired or revoked. Ask for a new invitation.';
      return problem('invitation-not-found', detail);
    }
    const { token, record } = outcome;
    deps.log.info('invitation accepted', { tenant: record.tenant, tokenId: record.tokenId });
    return json(201, { ...tokenBody(record), tenant: record.tenant, token });
  },

  'POST /v1/device': async (deps, event) => {
    const decoded = jsonBody(deps, event, invitationContract['POST /v1/device'].body);
    if (!decoded.ok) return decoded.response;
    const address = event.requestContext.http.sourceIp;
    const outcome = await startDevice(deps, { ...decoded.body, address });
    if (outcome.kind === 'full') {
      const detail = 'Too many logins are waiting. Retry in a minute, or paste a token.';
      return problem('devices-full', detail, { 'retry-after': '60' });
    }
    const { userCode, secret: token, expiresAtMs } = outcome;
    return json(201, { userCode, token, expiresAt: iso(expiresAtMs), intervalSeconds });
  },
} satisfies Readonly<Record<string, Operation<AcceptNeeds>>>;

const ownOnly =
  'You can approve your own machines with up to your rights, but not from a login that was approved so. Ask a tenant admin.';

const unknownCode = 'No login is waiting with this code. Check it, or start the login again.';
const deviceNotFound = (detail = unknownCode) => problem('device-not-found', detail);

function invitationBody(record: InvitationRecord): InvitationBody {
  const { invitationId, scope, repos, user, inviter, lifetimeMs, createdAtMs, expiresAtMs } = record;
  return {
    invitationId,
    scope,
    repos: repos && [...repos],
    user,
    inviter,
    expiresInSeconds: lifetimeMs / 1000,
    createdAt: iso(createdAtMs),
    expiresAt: iso(expiresAtMs),
  };
}
