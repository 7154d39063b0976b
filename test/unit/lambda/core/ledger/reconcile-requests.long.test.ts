import { describe, expect, it, vi } from 'vitest';
import { refresh } from '../../../../../lambda/core/ledger/reconcile-requests.ts';
import type { ReconcileRequest } from '../../../../../lambda/core/ledger/rules/reconcile-policy.ts';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { LedgerUnavailableError, NewerFormatError } from '../../../../../lambda/core/rules/errors.ts';
import { defaultSettings, type Settings } from '../../../../../lambda/core/rules/settings.ts';
import { noMetrics } from '../../../../../local/lambda-context.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** A stage whose schedule runs every minute. Its queue delivers nothing by itself. */
class Stage {
  readonly clock = new ManualClock();
  readonly ledger = new MemoryLedger();
  readonly requests: ReconcileRequest[] = [];
  readonly increment = vi.fn();
  isQueueDown = false;
  readonly deps;

  constructor(settings: Partial<Settings> = {}) {
    const requestAll = async (requests: readonly ReconcileRequest[]) => {
      if (this.isQueueDown) throw new Error('Throttled.');
      this.requests.push(...requests);
    };
    this.deps = memoryDeps({
      clock: this.clock,
      ledger: this.ledger,
      queue: { requestAll, request: (request) => requestAll([request]) },
      metrics: { ...noMetrics, increment: this.increment },
      settings: { ...defaultSettings, ...settings },
    });
  }

  /** A tenant that was counted an hour ago. */
  async create(tenant: string, dueAtMs = Number.MAX_SAFE_INTEGER): Promise<void> {
    const scannedAtMs = this.clock.nowMs() - hour;
    const scanned = { storedBytes: 0, objectCount: 0, scannedAtMs };
    await this.ledger.createTenant({ tenant, plan: null, limitBytes: 9, createdAtMs: 0, scanned, dueAtMs });
  }

  /** It has listed more than its budget allows until then. */
  async overdraw(tenant: string, listedUntilMs: number): Promise<void> {
    const { ledger, clock } = this;
    const begun = await ledger.beginReconcile({
      tenant,
      holder: 'h',
      nowMs: clock.nowMs(),
      leaseUntilMs: 0,
    });
    const epoch = begun.kind === 'begun' ? begun.epoch : 0;
    await ledger.setLease({ tenant, epoch, leaseUntilMs: 0, listedUntilMs });
  }

  /** Somebody counts it, in part. */
  async count(tenant: string): Promise<void> {
    const { deps, clock } = this;
    clock.advance(20 * second);
    await runReconcile(deps, {
      request: { tenant, reason: 'refusal', full: false },
      deadlineMs: clock.nowMs() + minute,
    });
  }

  async bringDead(tenant: string, lapsedAtMs = this.clock.nowMs() - minute): Promise<void> {
    const times = { createdAtMs: 0, expiresAtMs: 0, lapsedAtMs, lookAtMs: null };
    const reservation = { id: 'r', repo: 'app', state: 'issued', entries: new Map(), ...times } as const;
    await this.ledger.putReservation({ tenant, reservation });
  }

  /** One run of the schedule. @returns whom it has handed on. */
  async run(): Promise<string[]> {
    this.clock.advance(minute);
    this.requests.length = 0;
    await refresh(this.deps);
    return this.requests.map(({ tenant }) => tenant);
  }

  /** What the queue would deliver. */
  async handle(): Promise<void> {
    this.clock.advance(35 * second);
    const deadlineMs = this.clock.nowMs() + 5 * minute;
    for (const request of [...this.requests]) await runReconcile(this.deps, { request, deadlineMs });
  }
}

describe('the schedule', () => {
  it('has every tenant that is due reconciled, as far as each is due', async () => {
    const stage = new Stage();
    await stage.create('counted', 5);
    await stage.create('with-dead');
    await stage.bringDead('with-dead');
    await stage.create('fresh');
    expect(await stage.run()).toEqual(['counted', 'with-dead']);
    expect(stage.requests).toEqual([
      { tenant: 'counted', full: true, reason: 'schedule' },
      { tenant: 'with-dead', full: false, reason: 'schedule' },
    ]);
    expect(stage.increment.mock.calls).toEqual([['TenantsQueued', 2]]);
  });

  it('hands on as many as it may, those due longest first, and then the others', async () => {
    const stage = new Stage({ refreshTenantsMax: 2 });
    for (const [index, tenant] of ['c', 'a', 'd', 'b', 'e'].entries()) await stage.create(tenant, 10 + index);
    expect(await stage.run()).toEqual(['c', 'a']);
    expect(await stage.run()).toEqual(['d', 'b']);
    expect(await stage.run()).toEqual(['e']);
    expect(await stage.run()).toEqual([]);
  });

  it('leaves to its next run what has just become due', async () => {
    const stage = new Stage();
    await stage.create('a', stage.clock.nowMs() + minute - 5 * second);
    expect(await stage.run()).toEqual([]);
    expect(await stage.run()).toEqual(['a']);
  });

  it('measures and forgets no tenant that the queue did not take', async () => {
    const stage = new Stage();
    await stage.create('a', 5);
    stage.isQueueDown = true;
    await expect(stage.run()).rejects.toThrow('Throttled.');
    expect(stage.increment).not.toHaveBeenCalled();
    stage.isQueueDown = false;
    expect(await stage.run()).toEqual(['a']);
  });

  it('takes no step back if a clock does', async () => {
    const stage = new Stage();
    await stage.create('a', 5);
    await stage.run();
    stage.clock.advance(-3 * minute);
    expect(await stage.run()).toEqual([]);
    expect(await stage.run()).toEqual([]);
  });
});

describe('whoever stays due', () => {
  it('keeps nobody waiting: many whose reconciles are deferred', async () => {
    const stage = new Stage({ refreshTenantsMax: 4 });
    for (let index = 0; index < 12; index += 1) {
      const tenant = `greedy${index}`;
      await stage.create(tenant);
      await stage.bringDead(tenant, 100 + index);
      await stage.overdraw(tenant, stage.clock.nowMs() + 50 * hour);
    }
    await stage.create('patient', 1000);
    let runs = 0;
    for (let isServed = false; !isServed && runs < 30; runs += 1) {
      isServed = (await stage.run()).includes('patient');
      await stage.handle();
    }
    // Three runs for the others, who became due before.
    expect(runs).toBe(4);
  });

  it('is handed on once, and not again while his message waits: for three hours', async () => {
    const stage = new Stage();
    await stage.create('a', stage.clock.nowMs());
    const minutes: number[] = [];
    for (let run = 1; run <= 9 * 60; run += 1) if ((await stage.run()).length > 0) minutes.push(run);
    expect(minutes[0]).toBe(1);
    expect(minutes).toHaveLength(3);
    // What was lost is made up for.
    for (const [index, at] of minutes.entries()) expect(at).toBeLessThan(180 * index + 15);
  });

  it('is handed on again once his budget allows it, if his reconcile was deferred', async () => {
    const stage = new Stage();
    await stage.create('a');
    await stage.bringDead('a');
    const affordableAtMs = stage.clock.nowMs() + 50 * minute;
    await stage.overdraw('a', affordableAtMs + 5 * minute);
    const waits: number[] = [];
    for (let run = 0; run < 60; run += 1) {
      if ((await stage.run()).length > 0) waits.push(stage.clock.nowMs() - affordableAtMs);
      await stage.handle();
    }
    expect(waits).toHaveLength(2);
    expect(waits[1]).toBeGreaterThanOrEqual(0);
    expect(waits[1]).toBeLessThan(11 * minute);
    expect(stage.ledger.inspect('a').reservations).toEqual([]);
  });

  it('is handed on again within a quarter of an hour if his reconcile had to rest', async () => {
    for (let offset = 0; offset < 12; offset += 1) {
      const stage = new Stage();
      await stage.create('a', stage.clock.nowMs() + offset * minute);
      const handed: number[] = [];
      for (let run = 0; run < 40; run += 1) {
        if ((await stage.run()).length === 0) continue;
        handed.push(stage.clock.nowMs());
        // Somebody else's reconcile has begun seconds before.
        if (handed.length === 1) await stage.count('a');
        await stage.handle();
      }
      expect(handed).toHaveLength(2);
      expect((handed[1] ?? 0) - (handed[0] ?? 0)).toBeLessThan(15 * minute);
    }
  });

  it('is handed on again whatever his budget, if something of his is to be deleted', async () => {
    const stage = new Stage();
    for (const tenant of ['repo', 'tenant']) {
      await stage.create(tenant);
      await stage.overdraw(tenant, stage.clock.nowMs() + 50 * hour);
    }
    await stage.ledger.closeRepo({ tenant: 'repo', repo: 'app', closedAtMs: stage.clock.nowMs() });
    await stage.ledger.closeTenant({ tenant: 'tenant', closedAtMs: stage.clock.nowMs() });
    const runs: string[] = [];
    for (let run = 0; run < 30; run += 1) runs.push(...(await stage.run()));
    for (const tenant of ['repo', 'tenant'])
      expect(runs.filter((name) => name === tenant).length).toBeGreaterThan(2);
  });

  it('is looked at in turn: a quarter of a run', async () => {
    const stage = new Stage({ refreshTenantsMax: 8 });
    for (let index = 0; index < 8; index += 1) {
      await stage.create(`t${index}`, 10 + index);
      await stage.overdraw(`t${index}`, stage.clock.nowMs() + 10 * minute);
    }
    expect(await stage.run()).toHaveLength(8);
    const again: number[] = [];
    for (let run = 0; run < 10; run += 1) again.push((await stage.run()).length);
    expect(again.filter((count) => count > 0)).toEqual([2, 2, 2, 2]);
  });

  it('is handed on among others who become due, no more of them together than a run may', async () => {
    const stage = new Stage({ refreshTenantsMax: 8 });
    const old = Array.from({ length: 4 }, (_, index) => `old${index}`);
    for (const [index, tenant] of old.entries()) {
      await stage.create(tenant, 10 + index);
      await stage.overdraw(tenant, stage.clock.nowMs() + 10 * minute);
    }
    await stage.run();
    for (let index = 0; index < 200; index += 1)
      await stage.create(`fresh${index}`, stage.clock.nowMs() + index);
    const runs: string[][] = [];
    for (let run = 0; run < 20; run += 1) runs.push(await stage.run());
    expect(runs.flat()).toEqual(expect.arrayContaining(old));
    expect(new Set(runs.map((run) => run.length))).toEqual(new Set([8]));
  });

  it('is looked for only while a round is under way: otherwise a run reads the index once', async () => {
    const stage = new Stage();
    await stage.create('a', 5);
    const read = vi.spyOn(stage.ledger, 'dueTenants');
    await stage.run();
    await stage.run();
    expect(read).toHaveBeenCalledTimes(2);
    for (let run = 0; run < 5; run += 1) await stage.run();
    // Once more for the round.
    expect(read).toHaveBeenCalledTimes(2 + 5 + 1);
  });

  it('stops the run if his items cannot be read, which is then made again', async () => {
    const stage = new Stage();
    await stage.create('a', 5);
    await stage.run();
    vi.spyOn(stage.ledger, 'readTenant').mockRejectedValueOnce(new LedgerUnavailableError('No answer.'));
    const runs = async () => {
      for (let run = 0; run < 10; run += 1) await stage.run();
    };
    await expect(runs()).rejects.toThrow('No answer.');
  });

  it('stops no run if a newer version wrote his items', async () => {
    const stage = new Stage();
    await stage.create('a', 5);
    await stage.run();
    await stage.create('b', stage.clock.nowMs() + 20 * minute);
    vi.spyOn(stage.ledger, 'readTenant').mockRejectedValue(new NewerFormatError('newer'));
    const handed: string[] = [];
    for (let run = 0; run < 30; run += 1) handed.push(...(await stage.run()));
    expect(handed).toEqual(['b']);
  });
});
