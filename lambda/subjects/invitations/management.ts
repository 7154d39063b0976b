import { invitationOperations } from './routes.ts';
import { invitationsEnd } from './seams.ts';

export const invitationManagement = { operations: invitationOperations, userEnds: invitationsEnd };
