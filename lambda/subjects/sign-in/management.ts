import { signInBelongings } from './seams.ts';
import { signInOperations } from './user-routes.ts';

export const signInManagement = { operations: signInOperations, ends: signInBelongings };
