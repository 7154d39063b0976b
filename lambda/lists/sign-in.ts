/** The routes of the function `signIn`: a line a subject. */

export { acceptOperations as invitations } from '../subjects/invitations/routes.ts';
export { hostSignInOperations as signIn } from '../subjects/sign-in/routes.ts';
