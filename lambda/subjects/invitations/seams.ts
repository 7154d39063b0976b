import type { InvitationPorts } from './ports.ts';

/** The open invitations of a user end with them. */
export function invitationsEnd({ invitations }: Pick<InvitationPorts, 'invitations'>) {
  return ({ tenant, userId }: { tenant: string; userId: string }) =>
    invitations.deleteOf({ tenant, inviterId: userId });
}
