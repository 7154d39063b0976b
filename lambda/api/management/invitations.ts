import { approveDevice, deviceGrant, findDevice, invite } from '../../accounts/invitations.ts';
import { type InvitationRecord, isKept } from '../../accounts/rules/invitations.ts';
import { iso } from '../contract/fields.ts';
import { type InvitationBody, invitationContract, invitedSecondsDefault } from '../contract/invitations.ts';
import { baseUrl, json, noContent, type Response } from '../http.ts';
import { problem } from '../problems.ts';
import { operations, pathId } from './operations.ts';

export const invitationOperations = operations(invitationContract, {
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

  'POST /v1/tenants/{tenant}/device': async (deps, { tenant: { tenant }, token, query, body, trail }) => {
    const { userCode, scope = 'write', repos = null, user = token?.user ?? null } = body;
    const found = await findDevice(deps, { tenant, typed: userCode });
    if (found.kind === 'too-many-tries') {
      const detail = 'Too many wrong codes. Wait 10 minutes, then start the login again.';
      return problem('device-tries', detail, { 'retry-after': '600' });
    }
    if (found.kind === 'absent') return deviceNotFound();
    const { device } = found;
    const made = deviceGrant(deps, { device, tenant, scope, repos, user });
    const { tokenId, expiresAtMs } = made;
    const shown = {
      machine: device.machine,
      tokenId,
      scope,
      repos,
      user,
      expiresAt: iso(expiresAtMs ?? made.createdAtMs),
    };
    if (query.dryRun) return json(200, shown);
    if ((await approveDevice(deps, { device, token: made })) === 'absent') return deviceNotFound();
    trail.became(shown);
    return json(200, shown);
  },
});

function deviceNotFound(): Response {
  return problem(
    'device-not-found',
    'No login is waiting with this code. Check it, or start the login again.',
  );
}

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
