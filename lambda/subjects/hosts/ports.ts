import type { KeptGrants } from './grant-store.ts';
import type { LinkedRepos } from './linked-repo-store.ts';
import type { GitHost } from './rules/git-hosts.ts';
import type { HostClient, KnownHostUsers } from './rules/host-client.ts';
import type { TenantLinks } from './tenant-link-store.ts';

/** The git hosts, what is linked to them, and what they said of people. */
export interface HostPorts {
  readonly gitHosts: readonly GitHost[];
  readonly hostClient: HostClient;
  readonly linkedRepos: LinkedRepos;
  readonly tenantLinks: TenantLinks;
  readonly keptGrants: KeptGrants;
  readonly knownHostUsers: KnownHostUsers;
}
