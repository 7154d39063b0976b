import { signInBelongings } from './seams.ts';
import { signInOperations } from './user-routes.ts';
import { createDynamoDbUsers } from './user-store.ts';

export const signInManagement = {
  operations: signInOperations,
  ends: signInBelongings,
  stores: { users: createDynamoDbUsers },
};
