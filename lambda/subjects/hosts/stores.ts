export { createDynamoDbKeptGrants as keptGrants } from './grant-store.ts';
export { createDynamoDbLinkedRepos as linkedRepos } from './linked-repo-store.ts';
export { createDynamoDbTenantLinks as tenantLinks } from './tenant-link-store.ts';
