import { invitationOperations } from './routes.ts';
import { invitationsEnd } from './seams.ts';
import * as stores from './stores.ts';

export const invitationManagement = { operations: invitationOperations, userEnds: invitationsEnd, stores };
