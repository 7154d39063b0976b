import { type Fill, minute, repo, tenant } from '../../fill.ts';

/** What the table keeps of this subject. */
export const invitationsFill = {
  devices: ({ devices }, nowMs) => devices.count({ what: 'tries', of: tenant, nowMs }),
  invitations: ({ invitations }, createdAtMs) =>
    invitations.put({
      tenant,
      invitationId: 'i',
      secretSha256: 's',
      scope: 'write',
      repos: [repo],
      user: null,
      lifetimeMs: minute,
      inviterId: null,
      inviter: 'ada',
      createdAtMs,
      expiresAtMs: createdAtMs + minute,
    }),
} satisfies Fill;
