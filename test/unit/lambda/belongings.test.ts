import { expect, it } from 'vitest';
import { admitUpload } from '../../../lambda/core/ledger/admit-upload.ts';
import { deleteRepo, deleteTenant, markObject } from '../../../lambda/core/ledger/deletes.ts';
import { runReconcile } from '../../../lambda/core/ledger/run-reconcile.ts';
import { defaultSettings } from '../../../lambda/core/rules/settings.ts';
import type { Fields } from '../../../lambda/core/table/expressions.ts';
import { expiring } from '../../../lambda/core/table/table.ts';
import { createTenant } from '../../../lambda/frame/access/tenants.ts';
import { storesOn } from '../../../local/stores.ts';
import { ManualClock, memoryDeps } from '../../support/memory/deps.ts';
import { MemoryLedger } from '../../support/memory/ledger.ts';
import { MemoryObjectStore } from '../../support/memory/object-store.ts';
import { memoryTable } from '../../support/memory/table.ts';
import { setRepoLimit } from '../../support/over-settings.ts';
import { QueuedWork } from '../../support/queued-work.ts';
import { type Fill, minute, path, repo, type TestedSubject, tenant, unsent } from '../../support/subject.ts';
import * as subjects from '../../support/subjects.ts';
import { tokenRecord } from '../../support/token-record.ts';

const [stored, marked] = ['a', 'b'].map((digit) => digit.repeat(64)) as [string, string];
const day = 24 * 60 * minute;

/** Of what is no subject's. */
const fill: Fill = {
  audit: ({ audit }, atMs) =>
    audit.begin({
      tenant,
      atMs,
      requestId: 'r',
      action: 'tenant.update',
      target: { repo },
      asked: null,
      by: { kind: 'operator', tokenId: null, name: null },
      outcome: 'started',
      reason: null,
      before: null,
      after: null,
    }),
  failures: ({ failures }, atMs) =>
    failures.note({ kind: 'reconcile', tenant, atMs, sinceMs: atMs, tries: 1, why: 'store' }),
  ledger: async (deps) => {
    const record = await deps.ledger.readTenant(tenant);
    if (!record) throw new Error('There is no tenant.');
    await admitUpload(deps, { tenant: record, repo, objects: new Map([[unsent, 5]]), madeBy: 'ada' });
    await setRepoLimit(deps.ledger, { ...path, limitBytes: 1000 });
    await markObject(deps, { ...path, oid: marked, dryRun: false });
    await deps.ledger.noteGone({ ...path, oids: [marked], atMs: deps.clock.nowMs() });
  },
  requestKeys: ({ requestKeys }, beganAtMs) =>
    requestKeys.begin({
      id: `${tenant} key`,
      bodySha256: 'ab',
      seed: 's',
      beganAtMs,
      isDone: false,
      expiresAtMs: beganAtMs + minute,
    }),
  tokens: ({ tokens }) => tokens.put(tokenRecord('a token', { tenant, repos: [repo] })),
};

const fillAll: Fill = Object.assign({}, fill, ...Object.values<TestedSubject>(subjects).map((of) => of.fill));

/** A tenant on one table, of which each store keeps something. */
class World {
  readonly table = memoryTable();
  readonly clock = new ManualClock();
  readonly #queues = new QueuedWork();
  readonly objects = new MemoryObjectStore();
  readonly deps = memoryDeps({
    ...storesOn(this.table),
    ledger: new MemoryLedger({ on: this.table }),
    clock: this.clock,
    objects: this.objects,
    ...this.#queues.ports,
    settings: { ...defaultSettings, reconcileRestMs: 0 },
  });

  /** The items that name the tenant, and are never removed by the table itself. */
  items(): string[] {
    const [expiry = ''] = Object.keys(expiring(1));
    const kept = [...this.table.store.all()].filter((item) => !(expiry in item));
    return kept.map((item) => JSON.stringify(item)).filter((text) => text.includes(tenant));
  }

  writes(): number {
    return [...this.table.store.all()].length;
  }

  async reconcile(full = false): Promise<void> {
    const deadlineMs = this.clock.nowMs() + 14 * minute;
    await runReconcile(this.deps, { request: { tenant, reason: 'delete', full }, deadlineMs });
  }

  /** Lets time pass, with runs of the schedule. */
  async rest(durationMs: number, everyMs: number): Promise<void> {
    const { deps, clock } = this;
    for (const untilMs = clock.nowMs() + durationMs; clock.nowMs() < untilMs; clock.advance(everyMs)) {
      await this.#queues.wake(deps);
      await this.#queues.work(deps, clock.nowMs() + minute);
      await this.reconcile();
    }
  }

  async fill(): Promise<void> {
    const { deps, objects, clock } = this;
    for (const oid of [stored, marked])
      objects.put(`${tenant}/${repo}/${oid}`, 10, undefined, clock.nowMs() - 2 * day);
    await createTenant(deps, { tenant, plan: null, limitBytes: null });
    await this.reconcile(true);
    for (const [store, put] of Object.entries(fillAll)) {
      const before = JSON.stringify([...this.table.store.all()]);
      await put(deps, clock.nowMs());
      expect(JSON.stringify([...this.table.store.all()]), store).not.toBe(before);
    }
  }
}

it('each store gets something', () => {
  const stores = Object.entries(storesOn(memoryTable())).filter(([, store]) => typeof store === 'object');
  expect(Object.keys(fillAll).sort()).toEqual(stores.map(([name]) => name).sort());
});

it('whatever a store keeps of a repo goes with it, but for what its tenant decided of the name', async () => {
  const world = new World();
  await world.fill();
  await deleteRepo(world.deps, { ...path, dryRun: false });
  await world.rest(2 * 60 * minute, 10 * minute);
  await world.rest(10 * day, 12 * 60 * minute);
  await setRepoLimit(world.deps.ledger, { ...path, limitBytes: null });
  await world.rest(2 * day, 12 * 60 * minute);
  const left = world.items().filter((text) => text.includes(repo));
  expect(left.map((text) => (JSON.parse(text) as Fields)['pk']).sort()).toEqual([
    `EXCHANGE#${tenant}`,
    `PINNED#${tenant}`,
    expect.stringMatching(/^TOKEN#/),
  ]);
});

it('whatever a store keeps of a tenant goes with it, but for its name and what failed last', async () => {
  const world = new World();
  await world.fill();
  const record = await world.deps.ledger.readTenant(tenant);
  if (!record) throw new Error('There is no tenant.');
  await deleteTenant(world.deps, { tenant: record, dryRun: false });
  await world.rest(2 * 60 * minute, 10 * minute);
  await world.rest(10 * day, 12 * 60 * minute);
  const keyOf = ({ pk, sk }: Fields) => `${pk} ${sk}`;
  expect(
    world
      .items()
      .map((text) => keyOf(JSON.parse(text)))
      .sort(),
  ).toEqual(['FAILURES FAILURES', `TENANT#${tenant} TENANT`]);
});
