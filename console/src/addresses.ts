/** Addresses that subjects have: a view of the service, a tab of a repo, or a door. */
export { alerts } from './subjects/alerts/address.ts';
export { files } from './subjects/files/address.ts';
export { invitations } from './subjects/invitations/address.ts';
export { locks } from './subjects/locks/address.ts';
export { names } from './subjects/names/address.ts';
export { status } from './subjects/status/address.ts';
