/** What anybody's requests for access need. */

export { linkedHosts as hosts } from '../hosts/parts.ts';
export { acceptParts as invitations } from '../invitations/parts.ts';
export { signInParts as signIn } from '../sign-in/parts.ts';
