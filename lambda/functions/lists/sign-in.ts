/** What anybody's requests for access need. */

export { acceptParts as invitations } from '../invitations/parts.ts';
export { signInParts as signIn } from '../sign-in/parts.ts';
