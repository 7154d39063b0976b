import { expect, it } from 'vitest';
import { admitUpload } from '../../lambda/core/ledger/admit-upload.ts';
import type { Ledger } from '../../lambda/core/ledger/ledger.ts';
import { reconcile } from '../../lambda/core/ledger/reconcile.ts';
import type { AdmitUploadOutcome } from '../../lambda/core/ledger/upload-batch.ts';
import { LedgerUnavailableError } from '../../lambda/core/rules/errors.ts';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { systemClock, systemIds } from '../../lambda/frame/aws/clock-and-ids.ts';
import { memoryDeps } from '../support/memory/deps.ts';
import { MemoryObjectStore } from '../support/memory/object-store.ts';

const oid = (index: number) => index.toString(16).padStart(64, '0');
const retriesMax = 60;

/** An engine on a small machine may not answer a hundred requests at a time. The client then retries. */
function busy(error: unknown): AdmitUploadOutcome {
  if (error instanceof LedgerUnavailableError) return { kind: 'retry', retryAfterMs: 500 };
  throw error;
}

/** Many clients at a time, with the real use cases and a real ledger: one atomic write must decide. */
export function admissionContract(open: () => Promise<Ledger>, timeoutMs: number): void {
  const setUp = async (limitBytes: number) => {
    const ledger = await open();
    const store = new MemoryObjectStore();
    const settings = { ...defaultSettings, retryAfterMs: 100 };
    const clock = systemClock;
    const deps = memoryDeps({ ledger, objects: store, clock, ids: systemIds, settings });
    const tenant = `c${systemIds.random(12).toLowerCase()}`;
    const nowMs = clock.nowMs();
    const scanned = { storedBytes: 0, objectCount: 0, scannedAtMs: nowMs };
    const times = { createdAtMs: nowMs, dueAtMs: nowMs + 9e9 };
    await ledger.createTenant({ tenant, plan: null, limitBytes, scanned, ...times });
    /** Pushes one object as a client does: after a 429 it retries. */
    const push = async (name: string, sizeBytes: number): Promise<AdmitUploadOutcome> => {
      for (let attempt = 0; attempt < retriesMax; attempt += 1) {
        const record = await ledger.readTenant(tenant);
        if (!record) throw new Error('The tenant is gone.');
        const objects = new Map([[name, sizeBytes]]);
        const outcome = await admitUpload(deps, { tenant: record, repo: 'app', objects }).catch(busy);
        if (outcome.kind !== 'retry') return outcome;
        await clock.sleep(outcome.retryAfterMs);
      }
      throw new Error(`The answer was 429, ${retriesMax} times.`);
    };
    const kinds = (outcomes: readonly AdmitUploadOutcome[]) =>
      outcomes.map((outcome) =>
        outcome.kind === 'answered' ? [...outcome.verdicts.values()][0]?.kind : outcome.kind,
      );
    return { ledger, store, deps, tenant, push, kinds };
  };

  it('of 100 batches at a time on quota for 10, exactly 10 are admitted', {
    timeout: timeoutMs,
  }, async () => {
    const { ledger, tenant, push, kinds } = await setUp(10_000);
    const issuedBytes = async () => {
      let sum = 0;
      for await (const page of ledger.reservations(tenant)) {
        for (const { state, entries } of page) {
          for (const bytes of entries.values()) sum += state === 'issued' ? bytes : 0;
        }
      }
      return sum;
    };
    let most = 0;
    let watching = true;
    const watch = (async () => {
      // The pause lets the others run, which in memory would never happen otherwise.
      while (watching) {
        await systemClock.sleep(5);
        most = Math.max(most, await issuedBytes());
      }
    })();
    const outcomes = kinds(
      await Promise.all(Array.from({ length: 100 }, (_, index) => push(oid(index), 1000))),
    );
    watching = false;
    await watch;
    expect(outcomes.filter((kind) => kind === 'upload')).toHaveLength(10);
    expect(outcomes.filter((kind) => kind === 'over-limit')).toHaveLength(90);
    expect(most).toBeLessThanOrEqual(10_000);
    expect(await issuedBytes()).toBe(10_000);
  });

  it('50 clients may all upload the same object, and at rest it counts once', {
    timeout: timeoutMs,
  }, async () => {
    const { ledger, store, deps, tenant, push, kinds } = await setUp(1_500);
    const outcomes = kinds(await Promise.all(Array.from({ length: 50 }, () => push(oid(1), 1000))));
    expect(new Set(outcomes)).toEqual(new Set(['upload']));
    store.put(`${tenant}/app/${oid(1)}`, 1000);
    expect((await reconcile(deps, { tenant, full: false })).kind).toBe('committed');
    const record = await ledger.readTenant(tenant);
    expect(record).toMatchObject({ committedBytes: 1000, scanned: { storedBytes: 1000, objectCount: 1 } });
  });
}
