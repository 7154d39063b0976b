import { invitationOperations } from './routes.ts';
import { invitationsOfUser } from './seams.ts';
import * as stores from './stores.ts';

export const invitationManagement = { operations: invitationOperations, userEnds: invitationsOfUser, stores };
