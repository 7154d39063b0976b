import { describe, expect, it } from 'vitest';
import { reservationIdOf } from '../../../../../lambda/domain/reservation.ts';
import { defaultSettings } from '../../../../../lambda/domain/settings.ts';
import type { Ledger } from '../../../../../lambda/ports/ledger.ts';
import type { Deps } from '../../../../../lambda/use-cases/deps.ts';
import { createPathScan } from '../../../../../lambda/use-cases/scan/path-scan.ts';
import { admitUpload } from '../../../../../lambda/use-cases/uploads/admit-upload.ts';
import { verifyUpload } from '../../../../../lambda/use-cases/uploads/verify-upload.ts';
import { noMetrics } from '../../../../../local/no-metrics.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { Random } from '../../../../support/random.ts';
import { Scheduler } from '../../../../support/scheduler.ts';

const tenant = 'acme';
const roundTripMs = 10;
const oid = (index: number) => index.toString(16).padStart(64, '0');

interface Call {
  readonly name: string;
  readonly beganMs: number;
}

/** Ports of which every operation takes one round trip of the same length, so that elapsed time counts them. */
function countingPorts(limitBytes: number | null) {
  const scheduler = new Scheduler(new Random(1));
  const calls: Call[] = [];
  const travel = () => new Promise<void>((resolve) => scheduler.after(roundTripMs, resolve));
  const counted = <T>(name: string, run: () => Promise<T>): Promise<T> => {
    calls.push({ name, beganMs: scheduler.nowMs });
    return travel().then(run);
  };
  const memory = new MemoryLedger();
  const store = new MemoryObjectStore();
  const ledger = new Proxy(memory, {
    get(target, property) {
      const name = String(property);
      const method = Reflect.get(target, property) as (...args: unknown[]) => unknown;
      if (name === 'reservations' || name === 'repos' || name === 'deletions') {
        return async function* (...args: unknown[]) {
          for await (const page of method.apply(target, args) as AsyncIterable<unknown>) {
            await counted(name, async () => undefined);
            yield page;
          }
        };
      }
      return (...args: unknown[]) => counted(name, () => method.apply(target, args) as Promise<unknown>);
    },
  }) as Ledger;
  const clock = {
    nowMs: () => scheduler.nowMs,
    sleep: (ms: number) => new Promise<void>((r) => scheduler.after(ms, r)),
  };
  const listing: Deps['listing'] = {
    listPage: (request) => counted('LIST', () => store.listPage(request)),
    listFolders: (request) => counted('LIST', () => store.listFolders(request)),
  };
  const settings = defaultSettings;
  const deps = {
    ledger,
    listing,
    clock,
    settings,
    scan: createPathScan({ listing, clock, settings }),
    store: {
      head: (key: string) => counted('HEAD', () => store.head(key)),
      delete: (key: string) => counted('DELETE', () => store.delete(key)),
    },
    signer: {
      signUpload: async () => ({ href: '', header: {} }),
      signDownload: async () => ({ href: '', header: {} }),
    },
    queue: {
      request: () => counted('SEND', async () => undefined),
      requestAll: () => counted('SEND', async () => undefined),
    },
    ids: { random: (length: number) => 'x'.repeat(length) },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    metrics: noMetrics,
  };
  const counted0 = { storedBytes: 0, objectCount: 0, countedAtMs: scheduler.nowMs };
  const create = () =>
    memory.createTenant({ tenant, plan: null, limitBytes, createdAtMs: 0, counted: counted0, dueAtMs: 9e15 });
  /** Runs a task and tells how many round trips, one after the other, it took. */
  const measure = async <T>(task: () => Promise<T>): Promise<{ result: T; roundTrips: number }> => {
    const beganMs = scheduler.nowMs;
    let outcome: { result: T } | undefined;
    const running = task().then((result) => {
      outcome = { result };
    });
    await scheduler.run({ eventsMax: 10_000, check: () => undefined });
    if (!outcome) throw new Error('The task did not end.');
    await running;
    return { ...outcome, roundTrips: (scheduler.nowMs - beganMs) / roundTripMs };
  };
  return { memory, store, deps, calls, create, measure };
}

const tenantItemWrites = [
  'addCommitted',
  'beginReconcile',
  'setLease',
  'commitTenant',
  'updateTenant',
  'announceDelete',
];

describe('after authentication', () => {
  it.each([1, 10, 100])(
    'a batch of %i new objects takes three round trips and one write to the tenant item',
    async (n) => {
      const { memory, deps, calls, create, measure } = countingPorts(1e9);
      await create();
      const record = await memory.readTenant(tenant);
      if (!record) throw new Error('No tenant.');
      const objects = new Map(Array.from({ length: n }, (_, index) => [oid(index), 1000]));
      const { result, roundTrips } = await measure(() =>
        admitUpload(deps, { tenant: record, repo: 'app', objects }),
      );
      expect(
        result.kind === 'answered' && [...result.verdicts.values()].every(({ kind }) => kind === 'upload'),
      ).toBe(true);
      expect(roundTrips).toBe(3);
      expect(calls.filter(({ name }) => name === 'HEAD')).toHaveLength(n);
      expect(calls.filter(({ name }) => tenantItemWrites.includes(name))).toHaveLength(1);
      const issue = calls.find(({ name }) => name === 'issueReservation');
      const send = calls.find(({ name }) => name === 'SEND');
      expect(issue?.beganMs).toBe(send?.beganMs);
      expect(calls.filter(({ name }) => name === 'LIST')).toHaveLength(0);
    },
  );

  it('a verify takes one HEAD, and writes nothing to the ledger', async () => {
    const { memory, store, deps, calls, create, measure } = countingPorts(1e9);
    await create();
    const verifyToken = 'lfsv_token';
    const times = { createdAtMs: 0, expiresAtMs: 9e15, deadAtMs: 9e15 };
    const claims = new Map([[oid(1), 7]]);
    const reservation = {
      id: reservationIdOf(verifyToken),
      repo: 'app',
      state: 'issued',
      claims,
      ...times,
    } as const;
    await memory.putReservation({ tenant, reservation });
    store.put(`${tenant}/app/${oid(1)}`, 7);
    const ask = () => verifyUpload(deps, { tenant, repo: 'app', oid: oid(1), sizeBytes: 7, verifyToken });
    expect((await measure(ask)).result).toEqual({ kind: 'verified' });
    expect(calls.map(({ name }) => name).sort()).toEqual(['HEAD', 'SEND', 'readReservation']);
  });

  it('a refusal of a tenant that is simply full needs no scan', async () => {
    const { memory, deps, calls, create, measure } = countingPorts(0);
    await create();
    const record = await memory.readTenant(tenant);
    if (!record) throw new Error('No tenant.');
    const objects = new Map([[oid(1), 1]]);
    const { result } = await measure(() => admitUpload(deps, { tenant: record, repo: 'app', objects }));
    expect(result).toMatchObject({ kind: 'answered' });
    expect(result.kind === 'answered' && result.verdicts.get(oid(1))?.kind).toBe('over-limit');
    expect(calls.filter(({ name }) => name === 'LIST')).toHaveLength(0);
  });
});
