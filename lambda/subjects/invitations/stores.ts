export { createDynamoDbDevices as devices } from './device-store.ts';
export { createDynamoDbInvitations as invitations } from './invitation-store.ts';
