import type { AuditLog } from './audit-store.ts';
import type { Devices, Invitations } from './invitation-store.ts';
import type { KeptGrants, LinkedRepos, PublicReads } from './repo-mark-store.ts';
import type { GitHost } from './rules/git-hosts.ts';
import type { HostClient, KnownHostUsers } from './rules/host-user.ts';
import type { IdentityIssuer, IdentityVerifier } from './rules/identities.ts';
import type { AdminCredential } from './rules/tokens.ts';
import type { SignInHosts } from './sign-in-hosts.ts';
import type { TenantLinks } from './tenant-link-store.ts';
import type { ExchangeRules, RequestKeys, TokenStore } from './token-store.ts';
import type { Users } from './user-store.ts';

/** Who asks, and what they may. */
export interface AccountPorts {
  readonly tokens: TokenStore;
  readonly requestKeys: RequestKeys;
  readonly identities: IdentityVerifier;
  readonly issuers: readonly IdentityIssuer[];
  readonly exchangeRules: ExchangeRules;
  readonly invitations: Invitations;
  readonly devices: Devices;
  readonly audit: AuditLog;
  readonly publicReads: PublicReads;
  readonly gitHosts: readonly GitHost[];
  readonly hostClient: HostClient;
  readonly signInHosts: SignInHosts;
  readonly users: Users;
  readonly linkedRepos: LinkedRepos;
  readonly tenantLinks: TenantLinks;
  readonly keptGrants: KeptGrants;
  readonly knownHostUsers: KnownHostUsers;
  readonly admin: AdminCredential;
}
