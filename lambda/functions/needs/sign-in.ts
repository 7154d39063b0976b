/** What anybody's requests for access are: the routes of the function `signIn`, and what they need. */

export { accepting as invitations } from '../invitations/parts.ts';
export { signingIn as signIn } from '../sign-in/parts.ts';
