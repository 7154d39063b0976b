import { createInvocations } from '../../../lambda/adapters/system/async-invocations.ts';
import { systemIds } from '../../../lambda/adapters/system/ids.ts';
import type { Deletion } from '../../../lambda/domain/deletion.ts';
import { defaultSettings, type Settings } from '../../../lambda/domain/settings.ts';
import type { ObjectStore } from '../../../lambda/ports/object-store.ts';
import type { RecountRequest } from '../../../lambda/ports/recount-queue.ts';
import { createTenant } from '../../../lambda/use-cases/access/create-tenant.ts';
import { allPages } from '../../../lambda/use-cases/all-pages.ts';
import type { Deps } from '../../../lambda/use-cases/deps.ts';
import { runRecount } from '../../../lambda/use-cases/recounts/run-recount.ts';
import { createPathScan } from '../../../lambda/use-cases/scan/path-scan.ts';
import { admitUpload } from '../../../lambda/use-cases/uploads/admit-upload.ts';
import type { UploadVerdict } from '../../../lambda/use-cases/uploads/batch-attempt.ts';
import { noMetrics } from '../../../local/no-metrics.ts';
import { MemoryLedger } from './ledger.ts';
import { MemoryObjectStore } from './object-store.ts';
import { MemoryTokenStore } from './token-store.ts';

export const tenant = 'acme';
export const minute = 60_000;
export const oidOf = (index: number) => index.toString(16).padStart(64, '0');

/** The production use cases over what is in memory, with a clock that the test turns. */
export class MemoryStack {
  nowMs = 1_800_000_000_000;
  readonly ledger = new MemoryLedger();
  readonly objects = new MemoryObjectStore();
  readonly tokens = new MemoryTokenStore();
  /** What was asked of the queue. */
  readonly requests: RecountRequest[] = [];
  readonly deps: Omit<Deps, 'admin'>;
  /** Called before each delete of bytes. */
  beforeDelete: (key: string) => void = () => undefined;

  constructor(settings: Partial<Settings> = {}) {
    // Deletes are what is tested, so nothing rests between recounts.
    const all = { ...defaultSettings, recountRestMs: 0, ...settings };
    const clock = {
      nowMs: () => this.nowMs,
      sleep: async (durationMs: number) => {
        this.nowMs += durationMs;
      },
    };
    const store: ObjectStore = {
      head: (key) => this.objects.head(key),
      delete: async (key) => {
        this.beforeDelete(key);
        await this.objects.delete(key);
      },
    };
    this.deps = {
      ledger: this.ledger,
      tokens: this.tokens,
      store,
      listing: this.objects,
      clock,
      settings: all,
      scan: createPathScan({ listing: this.objects, clock, settings: all }),
      signer: {
        signUpload: async () => ({ href: 'https://store.example/', header: {} }),
        signDownload: async () => ({ href: 'https://store.example/', header: {} }),
      },
      queue: {
        request: async (request) => void this.requests.push(request),
        requestAll: async (requests) => void this.requests.push(...requests),
      },
      ids: systemIds,
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
      invocations: createInvocations(),
      metrics: noMetrics,
    };
  }

  /** Puts objects into the bucket around the ledger: key below the tenant → bytes. */
  put(objects: Readonly<Record<string, number>>): void {
    for (const [path, sizeBytes] of Object.entries(objects)) this.objects.put(`${tenant}/${path}`, sizeBytes);
  }

  /** Creates the tenant, counts what it has, and forgets what was asked of the queue for it. */
  async create(limitBytes: number | null = null): Promise<void> {
    await createTenant(this.deps, { tenant, plan: null, limitBytes });
    await this.consume({ full: true });
    this.requests.length = 0;
  }

  consume(more: { full?: boolean; limitMs?: number } = {}): Promise<'done' | 'requeued'> {
    const request = { tenant, reason: 'delete', full: more.full ?? false } as const;
    return runRecount(this.deps, { request, deadlineMs: this.nowMs + (more.limitMs ?? 14 * minute) });
  }

  /** A batch request of a client that pushes. */
  async push(
    repo: string,
    objects: Readonly<Record<string, number>>,
  ): Promise<ReadonlyMap<string, UploadVerdict> | 'retry' | 'absent'> {
    const record = await this.ledger.readTenant(tenant);
    if (!record) return 'absent';
    const outcome = await admitUpload(this.deps, {
      tenant: record,
      repo,
      objects: new Map(Object.entries(objects)),
    });
    return outcome.kind === 'answered' ? outcome.verdicts : outcome.kind;
  }

  deletions(): Promise<Deletion[]> {
    return allPages(this.ledger.deletions(tenant));
  }

  async record() {
    const record = await this.ledger.readTenant(tenant);
    if (!record) throw new Error('The tenant is not there.');
    return record;
  }

  /** Keys below the tenant. */
  async keys(): Promise<string[]> {
    const keys: string[] = [];
    let continuationToken: string | undefined;
    do {
      const page = await this.objects.listPage({
        prefix: `${tenant}/`,
        ...(continuationToken !== undefined && { continuationToken }),
      });
      for (let index = 0; index < page.keyCount; index += 1)
        keys.push(page.keyAt(index).slice(tenant.length + 1));
      continuationToken = page.nextContinuationToken;
    } while (continuationToken !== undefined);
    return keys;
  }

  isDue(): Promise<boolean> {
    return this.ledger.dueTenants({ nowMs: this.nowMs, tenantsMax: 10 }).then((due) => due.length > 0);
  }
}
