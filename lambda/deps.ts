import type { Downloads } from './downloads/download-store.ts';
import type { ExportJobs } from './exports/job-store.ts';
import type { ExportQueue } from './exports/messages.ts';
import type { ArchiveStore } from './exports/rules/archive-store.ts';
import type { ExportSettings } from './exports/rules/settings.ts';
import type { History } from './history/history-store.ts';
import type { RefusalTally } from './history/rules/history.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { RecountQueue } from './ledger/rules/recount-policy.ts';
import type { Locks } from './locks/lock-store.ts';
import type { AuditLog } from './people/audit-store.ts';
import type { KeptGrants, MappedRepos, PublicReads } from './people/repo-mark-store.ts';
import type { GitHost } from './people/rules/git-hosts.ts';
import type { IdentityIssuer, IdentityVerifier } from './people/rules/identities.ts';
import type { HostClient, KnownPeople } from './people/rules/person.ts';
import type { AdminCredential } from './people/rules/tokens.ts';
import type { ExchangeRules, RequestKeys, TokenStore } from './people/token-store.ts';
import type { Clock, Ids, Invocations, Log } from './rules/clock-and-log.ts';
import type { Metrics } from './rules/metrics.ts';
import type { Settings } from './rules/settings.ts';
import type { KnownObjects, ListingPace } from './scan/rules/known-objects.ts';
import type { PathScan } from './scan/rules/scan-plan.ts';
import type { Failures } from './status/failure-store.ts';
import type { QueueGauge, StoreProbe } from './status/rules/status.ts';
import type { AdoptedRepos } from './store/rules/adopted-repos.ts';
import type { ObjectListing, ObjectStore, UrlSigner } from './store/rules/store.ts';
import type { EventBus } from './warnings/rules/warnings.ts';
import type { WebhookQueue, WebhookSender, WebhookUrls } from './warnings/rules/webhook-delivery.ts';
import type { Warnings } from './warnings/warning-store.ts';
import type { Webhooks } from './warnings/webhook-store.ts';

/**
 * Everything that use cases can depend on. Each takes a `Pick` of it as its first parameter, so its type says what it
 * can touch.
 */
export interface Deps {
  readonly ledger: Ledger;
  readonly tokens: TokenStore;
  readonly requestKeys: RequestKeys;
  readonly identities: IdentityVerifier;
  readonly issuers: readonly IdentityIssuer[];
  readonly exchangeRules: ExchangeRules;
  readonly audit: AuditLog;
  readonly downloads: Downloads;
  readonly publicReads: PublicReads;
  readonly gitHosts: readonly GitHost[];
  readonly hostClient: HostClient;
  readonly mappedRepos: MappedRepos;
  readonly keptGrants: KeptGrants;
  readonly knownPeople: KnownPeople;
  readonly history: History;
  readonly refusalTally: RefusalTally;
  readonly warnings: Warnings;
  readonly eventBus: EventBus;
  readonly webhooks: Webhooks;
  readonly webhookQueue: WebhookQueue;
  readonly webhookSender: WebhookSender;
  readonly webhookUrls: WebhookUrls;
  readonly locks: Locks;
  readonly admin: AdminCredential;
  readonly store: ObjectStore;
  readonly listing: ObjectListing;
  /** Which repos lie elsewhere in the bucket. What sends keys to the store knows of it by itself. */
  readonly adoptedRepos: AdoptedRepos;
  readonly scan: PathScan;
  readonly listingPace: ListingPace;
  readonly knownObjects: KnownObjects;
  readonly archives: ArchiveStore;
  readonly exportJobs: ExportJobs;
  readonly exportQueue: ExportQueue;
  readonly exportSettings: ExportSettings;
  readonly signer: UrlSigner;
  readonly queue: RecountQueue;
  /** Those that this stack has. */
  readonly queueGauges: readonly QueueGauge[];
  readonly storeProbe: StoreProbe;
  readonly failures: Failures;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly invocations: Invocations;
  readonly metrics: Metrics;
  readonly settings: Settings;
}
