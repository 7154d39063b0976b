import type { InvitationPorts } from './ports.ts';

/** The open invitations of a user end with them. Those of a closed tenant can't be accepted, and expire. */
export function invitationsOfUser({ invitations }: Pick<InvitationPorts, 'invitations'>) {
  return ({ tenant, userId }: { tenant: string; userId: string }) =>
    invitations.deleteOf({ tenant, inviterId: userId });
}
