import { markObject } from '../../../lambda/core/ledger/deletes.ts';
import type { Shard } from '../../../lambda/core/ledger/rules/shard.ts';
import { runReconcile } from '../../../lambda/core/ledger/run-reconcile.ts';
import { scanLargeRepos } from '../../../lambda/core/ledger/scan-large-repos.ts';
import { type Lease, readSnapshot } from '../../../lambda/core/ledger/snapshot.ts';
import { allPages } from '../../../lambda/core/rules/async.ts';
import type { Settings } from '../../../lambda/core/rules/settings.ts';
import { MemoryStack, minute, tenant } from './stack.ts';

const hour = 60 * minute;
const day = 24 * hour;

export const repo = 'app';

type ScanLargeReposInput = Parameters<typeof scanLargeRepos>[1];

/** A lease that nobody else takes. */
export const lease: Lease = {
  renew: async () => 'ours',
  release: async () => {},
  addRequests: () => {},
  addShardRequests: () => {},
  chargedUntilMs: () => 0,
};

/** Spread evenly, as hashes are. */
export const oidOf = (index: number) =>
  ((index * 37) % 256)
    .toString(16)
    .padStart(2, '0')
    .padEnd(64, `${index % 10}`);

/** A stack in which a repo of 40 objects is a large repo. */
export class LargeRepoStack extends MemoryStack {
  lists = 0;
  heads = 0;

  constructor(settings: Partial<Settings> = {}) {
    super({ largeRepoObjects: 40, shardObjectsMax: 20, shardRoundMs: 7 * day, ...settings });
    const { listPage } = this.objects;
    this.objects.listPage = (request) => {
      this.lists += 1;
      return listPage.call(this.objects, request);
    };
    const { head } = this.objects;
    this.objects.head = (key) => {
      this.heads += 1;
      return head.call(this.objects, key);
    };
  }

  override put(objects: Readonly<Record<string, number>>): void {
    for (const [path, sizeBytes] of Object.entries(objects))
      this.objects.put(`${tenant}/${path}`, sizeBytes, undefined, this.nowMs);
  }

  shards() {
    return allPages(this.ledger.shards({ tenant, repo }));
  }

  /** A reconcile of what may have changed. @returns LIST and HEAD requests that it made. */
  async reconcile(
    reason: 'upload' | 'manual' = 'upload',
    full = false,
  ): Promise<[lists: number, heads: number]> {
    const before = [this.lists, this.heads] as const;
    await runReconcile(this.deps, {
      request: { tenant, reason, full },
      deadlineMs: this.nowMs + 14 * minute,
    });
    return [this.lists - before[0], this.heads - before[1]];
  }

  /** Changes a shard, as if by a reconcile between the last and the next. */
  async changeShard(prefix: string, more: Partial<Shard>, of = repo): Promise<void> {
    const shards = await allPages(this.ledger.shards({ tenant, repo: of }));
    const shard = shards.find((each) => each.prefix === prefix);
    if (!shard) throw new Error('There is no such shard.');
    const { epoch } = await this.record();
    const written = { ...shard, ...more, epoch: epoch + 0.5 };
    await this.ledger.putShard({ tenant, repo: of, shard: written, epochRead: shard.epoch });
  }

  /** What a reconcile that begins now finds of all large repos, before it writes anything. */
  async scanLargeRepos(more: Partial<ScanLargeReposInput> = {}) {
    const before = await this.record();
    const snapshot = await readSnapshot(this.deps, { tenant, excludedId: undefined, lease });
    if (snapshot === 'superseded') throw new Error('Nobody else takes the lease.');
    return scanLargeRepos(this.deps, {
      epoch: before.epoch + 1,
      before,
      snapshot,
      emptied: new Map(),
      largeRepos: snapshot.repos.filter(({ large }) => large !== undefined),
      isAwaited: false,
      isThorough: false,
      awaitedOidsOf: () => new Set(),
      lease,
      ...more,
    });
  }

  async send(oids: readonly string[]): Promise<void> {
    this.put(Object.fromEntries(oids.map((oid) => [`${repo}/${oid}`, 10])));
  }

  async delete(oid: string): Promise<void> {
    const { deps } = this;
    await markObject(deps, { tenant, repo, oid, dryRun: false });
    this.nowMs += deps.settings.deleteGraceMs;
  }
}

/** Large repos of 60 objects of 10 bytes, in 16 shards each, which were scanned a day after the last object had arrived. */
export async function largeRepoStack({
  repos = [repo],
  ...settings
}: Partial<Settings> & { repos?: string[] } = {}): Promise<LargeRepoStack> {
  const stack = new LargeRepoStack(settings);
  for (const name of repos)
    stack.put(Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`${name}/${oidOf(index)}`, 10])));
  stack.nowMs += day;
  await stack.create(100_000);
  await stack.reconcile('manual', true);
  return stack;
}
