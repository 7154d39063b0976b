import type { AuditLog } from './adapters/dynamodb/audit-log.ts';
import type { Downloads } from './adapters/dynamodb/downloads.ts';
import type { ExchangeRules } from './adapters/dynamodb/exchange-rules.ts';
import type { ExportJobs } from './adapters/dynamodb/export-jobs.ts';
import type { Failures } from './adapters/dynamodb/failures.ts';
import type { History } from './adapters/dynamodb/history.ts';
import type { KeptGrants } from './adapters/dynamodb/kept-grants.ts';
import type { Ledger } from './adapters/dynamodb/ledger.ts';
import type { Locks } from './adapters/dynamodb/locks.ts';
import type { MappedRepos } from './adapters/dynamodb/mapped-repos.ts';
import type { PublicReads } from './adapters/dynamodb/public-reads.ts';
import type { RequestKeys } from './adapters/dynamodb/request-keys.ts';
import type { TokenStore } from './adapters/dynamodb/token-store.ts';
import type { Warnings } from './adapters/dynamodb/warnings.ts';
import type { Webhooks } from './adapters/dynamodb/webhooks.ts';
import type { ExportSettings } from './domain/export/export-settings.ts';
import type { GitHost } from './domain/git-host.ts';
import type { IdentityIssuer } from './domain/identity-issuer.ts';
import type { KnownPeople } from './domain/known-people.ts';
import type { RefusalTally } from './domain/refusal-tally.ts';
import type { ArchiveStore } from './ports/archive-store.ts';
import type { AdminCredential } from './ports/credentials.ts';
import type { EventBus } from './ports/event-bus.ts';
import type { ExportQueue } from './ports/export-queue.ts';
import type { HostClient } from './ports/git-hosts.ts';
import type { IdentityVerifier } from './ports/identities.ts';
import type { QueueGauge } from './ports/queue-gauges.ts';
import type { RecountQueue } from './ports/recount-queue.ts';
import type { StoreProbe } from './ports/store-probe.ts';
import type { WebhookQueue, WebhookSender, WebhookUrls } from './ports/webhooks.ts';
import type { Settings } from './rules/settings.ts';
import type { Clock, Ids, Invocations, Log, Metrics } from './rules/system.ts';
import type { KnownObjects, ListingPace } from './scan/rules/known-objects.ts';
import type { PathScan } from './scan/rules/scan-plan.ts';
import type { AdoptedRepos } from './store/rules/adopted-repos.ts';
import type { ObjectListing, ObjectStore, UrlSigner } from './store/rules/store.ts';

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
