import type { Devices } from './device-store.ts';
import type { Invitations } from './invitation-store.ts';

/** Who is invited, and the machines that ask to log in. */
export interface InvitationPorts {
  readonly invitations: Invitations;
  readonly devices: Devices;
}
