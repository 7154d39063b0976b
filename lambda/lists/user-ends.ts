/** What is ended with a user who signed in, before the user. */

export { invitationsEnd as invitations } from '../subjects/invitations/seams.ts';
