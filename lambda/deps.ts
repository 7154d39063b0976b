import type { AuditLog } from './accounts/audit-store.ts';
import type { Devices, Invitations } from './accounts/invitation-store.ts';
import type { KeptGrants, LinkedRepos, PublicReads } from './accounts/repo-mark-store.ts';
import type { GitHost } from './accounts/rules/git-hosts.ts';
import type { HostClient, KnownHostUsers } from './accounts/rules/host-user.ts';
import type { IdentityIssuer, IdentityVerifier } from './accounts/rules/identities.ts';
import type { AdminCredential } from './accounts/rules/tokens.ts';
import type { SignInHosts } from './accounts/sign-in-hosts.ts';
import type { TenantLinks } from './accounts/tenant-link-store.ts';
import type { ExchangeRules, RequestKeys, TokenStore } from './accounts/token-store.ts';
import type { Users } from './accounts/user-store.ts';
import type { Alerts } from './alerts/alert-store.ts';
import type { EmailStore } from './alerts/email-store.ts';
import type { EventBus } from './alerts/rules/alerts.ts';
import type { EmailQueue, Mailer } from './alerts/rules/email.ts';
import type { WebhookQueue, WebhookSender, WebhookUrls } from './alerts/rules/webhook-delivery.ts';
import type { Webhooks } from './alerts/webhook-store.ts';
import type { ChunkQueue } from './chunks/messages.ts';
import type { ChunkedUploads } from './chunks/upload-store.ts';
import type { Copier } from './downloads/copier.ts';
import type { Copies } from './downloads/copy-store.ts';
import type { Downloads } from './downloads/download-store.ts';
import type { CopyQueue } from './downloads/messages.ts';
import type { ExportJobs } from './exports/job-store.ts';
import type { ExportQueue } from './exports/messages.ts';
import type { ExportSettings } from './exports/rules/settings.ts';
import type { GcRuns } from './gc/gc-store.ts';
import type { History } from './history/history-store.ts';
import type { CoreDeps } from './ledger/core-deps.ts';
import type { Locks } from './locks/lock-store.ts';
import type { Invocations } from './rules/clock-and-log.ts';
import type { Failures } from './status/failure-store.ts';
import type { DiskState } from './status/rules/disk.ts';
import type { QueueGauge, StoreProbe } from './status/rules/status.ts';
import type { AdoptedRepos } from './store/rules/adopted-repos.ts';
import type { ArchiveStore } from './store/rules/archive-store.ts';

/**
 * Everything that use cases can depend on. Each takes a `Pick` of it as its first parameter, so its type says what it
 * can touch.
 */
export interface Deps extends CoreDeps {
  readonly tokens: TokenStore;
  readonly requestKeys: RequestKeys;
  readonly identities: IdentityVerifier;
  readonly issuers: readonly IdentityIssuer[];
  readonly exchangeRules: ExchangeRules;
  readonly invitations: Invitations;
  readonly devices: Devices;
  readonly audit: AuditLog;
  readonly downloads: Downloads;
  readonly publicReads: PublicReads;
  readonly copies: Copies;
  readonly copyQueue: CopyQueue;
  readonly copier: Copier;
  readonly gitHosts: readonly GitHost[];
  readonly hostClient: HostClient;
  readonly signInHosts: SignInHosts;
  readonly users: Users;
  readonly linkedRepos: LinkedRepos;
  readonly tenantLinks: TenantLinks;
  readonly keptGrants: KeptGrants;
  readonly knownHostUsers: KnownHostUsers;
  readonly gcRuns: GcRuns;
  readonly history: History;
  readonly alerts: Alerts;
  readonly eventBus: EventBus;
  readonly webhooks: Webhooks;
  readonly webhookQueue: WebhookQueue;
  readonly webhookSender: WebhookSender;
  readonly webhookUrls: WebhookUrls;
  readonly emails: EmailStore;
  readonly emailQueue: EmailQueue;
  readonly mailer: Mailer;
  readonly locks: Locks;
  readonly admin: AdminCredential;
  /** Which repos lie elsewhere in the bucket. What sends keys to the store knows of it by itself. */
  readonly adoptedRepos: AdoptedRepos;
  readonly archives: ArchiveStore;
  readonly exportJobs: ExportJobs;
  readonly exportQueue: ExportQueue;
  readonly exportSettings: ExportSettings;
  readonly chunkedUploads: ChunkedUploads;
  readonly chunkQueue: ChunkQueue;
  /** Those that this stack has. */
  readonly queueGauges: readonly QueueGauge[];
  readonly storeProbe: StoreProbe;
  /** Absent: nothing is on a disk of this server. */
  readonly disk?: (() => DiskState) | undefined;
  readonly failures: Failures;
  readonly invocations: Invocations;
}
