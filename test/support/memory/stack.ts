import { admitUpload } from '../../../lambda/core/ledger/admit-upload.ts';
import type { Input, Ledger } from '../../../lambda/core/ledger/ledger.ts';
import { type Deletion, newDeletion } from '../../../lambda/core/ledger/rules/deletion.ts';
import type { ReconcileRequest } from '../../../lambda/core/ledger/rules/reconcile-policy.ts';
import type { Reservation } from '../../../lambda/core/ledger/rules/reservation.ts';
import type { RepoRecord } from '../../../lambda/core/ledger/rules/tenant.ts';
import { isOfLfs } from '../../../lambda/core/ledger/rules/tenant.ts';
import { runReconcile } from '../../../lambda/core/ledger/run-reconcile.ts';
import type { Hold } from '../../../lambda/core/ledger/seams.ts';
import type { UploadVerdict } from '../../../lambda/core/ledger/upload-batch.ts';
import { allPages } from '../../../lambda/core/rules/async.ts';
import { defaultSettings, type Settings } from '../../../lambda/core/rules/settings.ts';
import { type ObjectStore, StoreUnavailableError } from '../../../lambda/core/store/rules/store.ts';
import { createTenant } from '../../../lambda/frame/access/tenants.ts';
import type { Deps } from '../../../local/deps.ts';
import { storesOn } from '../../../local/stores.ts';
import { ManualClock, memoryDeps, recordingQueue } from './deps.ts';
import { MemoryLedger } from './ledger.ts';
import { MemoryObjectStore } from './object-store.ts';
import { MemoryTokenStore } from './stores.ts';

export const tenant = 'acme';
export const minute = 60_000;
export const oidOf = (index: number) => index.toString(16).padStart(64, '0');

/** The production use cases over ports in memory, with a clock that the test moves. */
export class MemoryStack {
  readonly ledger: MemoryLedger;
  readonly objects = new MemoryObjectStore();
  readonly tokens = new MemoryTokenStore();
  readonly deps: Deps;
  readonly #clock = new ManualClock();
  readonly #queue = recordingQueue();
  /** Called before each object is deleted. */
  beforeDelete: (key: string) => void = () => undefined;

  constructor(settings: Partial<Settings> = {}, ledger = new MemoryLedger()) {
    const { objects, tokens } = this;
    this.ledger = ledger;
    const store: ObjectStore = {
      head: (key) => objects.head(key),
      putEmpty: (key, options) => objects.putEmpty(key, options),
      delete: async (keys) => {
        const failed = new Map<string, StoreUnavailableError>();
        for (const key of keys) {
          try {
            this.beforeDelete(key);
            await objects.delete([key]);
          } catch (error) {
            if (!(error instanceof StoreUnavailableError)) throw error;
            failed.set(key, error);
          }
        }
        return failed;
      },
    };
    this.deps = memoryDeps({
      // On the table of the ledger, which knows what is due.
      ...storesOn(ledger.table),
      ledger,
      objects,
      tokens,
      store,
      clock: this.#clock,
      queue: this.#queue.queue,
      // Reconciles follow each other at once, unless a test is about the rest between them.
      settings: { ...defaultSettings, reconcileRestMs: 0, ...settings },
    });
  }

  get nowMs(): number {
    return this.#clock.nowMs();
  }

  set nowMs(nowMs: number) {
    this.#clock.advance(nowMs - this.nowMs);
  }

  /** From now on, what becomes due is spared for so long. */
  holdFor(durationMs: number): void {
    const [fromMs, untilMs] = [this.nowMs, this.nowMs + durationMs];
    const hold: Hold = {
      spared: async () => {
        const isOver = this.nowMs >= untilMs;
        return (_, dueAtMs) => !isOver && fromMs <= dueAtMs;
      },
    };
    // Chores have the same list.
    (this.deps.holds as Hold[]).push(hold);
  }

  /** The reconciles that were asked for. */
  get requests(): ReconcileRequest[] {
    return this.#queue.requests;
  }

  /** Puts objects into the bucket without the ledger's knowledge. @param objects key below the tenant → bytes. */
  put(objects: Readonly<Record<string, number>>): void {
    for (const [path, sizeBytes] of Object.entries(objects)) this.objects.put(`${tenant}/${path}`, sizeBytes);
  }

  /** Creates the tenant, counts it, and forgets the reconciles that were requested on the way. */
  async create(limitBytes: number | null = null): Promise<void> {
    await createTenant(this.deps, { tenant, plan: null, limitBytes });
    await this.consume({ full: true });
    this.requests.length = 0;
  }

  consume(more: { full?: boolean; limitMs?: number } = {}): Promise<'done' | 'requeued'> {
    const request = { tenant, reason: 'delete', full: more.full ?? false } as const;
    return runReconcile(this.deps, { request, deadlineMs: this.nowMs + (more.limitMs ?? 14 * minute) });
  }

  /** One batch request to upload objects: oid → bytes. */
  async push(
    repo: string,
    objects: Readonly<Record<string, number>>,
  ): Promise<ReadonlyMap<string, UploadVerdict> | 'retry' | 'absent'> {
    const record = await this.ledger.readTenant(tenant);
    if (!record) return 'absent';
    const found = await this.ledger.readRepo({ tenant, repo });
    const outcome = await admitUpload(this.deps, {
      tenant: record,
      repo,
      isOfLfs: isOfLfs(found),
      watch: found?.watch,
      objects: new Map(Object.entries(objects)),
    });
    return outcome.kind === 'answered' ? outcome.verdicts : outcome.kind;
  }

  /** Puts objects into the bucket that a batch asked for before. */
  async upload(repo: string, objects: Readonly<Record<string, number>>): Promise<void> {
    await this.push(repo, objects);
    this.put(Object.fromEntries(Object.entries(objects).map(([oid, bytes]) => [`${repo}/${oid}`, bytes])));
  }

  /** What a batch is told of each object, in the order of its request, or of all of them. */
  async kinds(repo: string, objects: Readonly<Record<string, number>>): Promise<string> {
    const verdicts = await this.push(repo, objects);
    if (typeof verdicts === 'string') return verdicts;
    return Object.keys(objects)
      .map((oid) => verdicts.get(oid)?.kind ?? 'nothing')
      .join(' ');
  }

  get reservations(): readonly Reservation[] {
    return this.ledger.inspect(tenant).reservations;
  }

  repo(name: string): Promise<RepoRecord | undefined> {
    return this.ledger.readRepo({ tenant, repo: name });
  }

  /** Marks objects of the repo `app`: name → bytes. They are to be deleted now. */
  async mark(
    objects: Readonly<Record<string, number>>,
    more: Partial<Parameters<typeof newDeletion>[0]> = {},
  ): Promise<Deletion> {
    const named = new Map(Object.entries(objects));
    const deletion = newDeletion({ id: 'd', repo: 'app', objects: named, dueAtMs: this.nowMs, ...more });
    await this.ledger.putDeletion({ tenant, deletion });
    return deletion;
  }

  /** Begins a deletion as a run does that has a minute. @returns it as it is then. */
  async entry(before: Deletion, deadlineMs = this.nowMs + minute): Promise<Deletion> {
    const entry = await this.ledger.claimDeletion({ tenant, before, deadlineMs });
    if (entry.kind !== 'claimed') throw new Error('The deletion is not as it was read.');
    return entry.deletion;
  }

  /** The first deletion of the tenant. */
  async deletion(): Promise<Deletion> {
    const [first] = await this.deletions();
    if (!first) throw new Error('There is no deletion.');
    return first;
  }

  /** Runs something right before the next call of a method of the ledger, as if somebody else came first. */
  beforeNext<Name extends keyof Ledger>(
    name: Name,
    run: (input: Input<Name>) => Promise<unknown> | unknown,
  ): void {
    const method = this.ledger[name].bind(this.ledger) as (input: Input<Name> | undefined) => unknown;
    const once = async (input: Input<Name>) => {
      Object.assign(this.ledger, { [name]: method });
      await run(input);
      return method(input);
    };
    Object.assign(this.ledger, { [name]: once });
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

  /** What the tenant's item says. */
  async usage(): Promise<{ committedBytes: number; storedBytes: number | undefined }> {
    const { committedBytes, scanned } = await this.record();
    return { committedBytes, storedBytes: scanned?.storedBytes };
  }

  /** Reconciles if the tenant is due, as the schedule does. @returns whether it was. */
  async runSchedule(): Promise<boolean> {
    const [due] = await this.#due(1);
    if (due) await this.consume({ full: due.full });
    return due !== undefined;
  }

  /** Lets time pass, with a run of the schedule every 15 minutes. @returns the hours at which the tenant was due. */
  async pass(durationMs: number): Promise<number[]> {
    const beganMs = this.nowMs;
    const hours: number[] = [];
    while (this.nowMs < beganMs + durationMs) {
      this.nowMs += 15 * minute;
      if (await this.runSchedule()) hours.push((this.nowMs - beganMs) / (60 * minute));
    }
    return hours;
  }

  isDue(): Promise<boolean> {
    return this.#due(10).then((due) => due.length > 0);
  }

  #due(tenantsMax: number) {
    return this.ledger.dueTenants({ untilMs: this.nowMs, tenantsMax }).then(({ due }) => due);
  }
}
