import { beforeEach, describe, expect, it } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import { verifyUpload } from '../../../../../lambda/core/ledger/reservations.ts';
import { createTenant } from '../../../../../lambda/frame/access/tenants.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { unlimitedRepo } from '../../../../support/tenant-record.ts';

const [tenant, repo] = ['acme', 'app'];
const oid = 'a'.repeat(64);

describe('while the queue takes nothing', () => {
  const clock = new ManualClock();
  let ledger: MemoryLedger;
  let objects: MemoryObjectStore;
  let deps: Deps;
  let entries: ReturnType<typeof recordingLog>['entries'];

  beforeEach(async () => {
    [ledger, objects] = [new MemoryLedger(), new MemoryObjectStore()];
    await createTenant(memoryDeps({ ledger, objects, clock }), { tenant, plan: null, limitBytes: 100 });
    await reconcile(memoryDeps({ ledger, objects, clock }), { tenant, full: true });
    const recorded = recordingLog();
    entries = recorded.entries;
    const refuse = async () => {
      throw new Error('Throttled.');
    };
    deps = memoryDeps({
      ledger,
      objects,
      clock,
      log: recorded.log,
      queue: { request: refuse, requestAll: refuse },
    });
  });

  const upload = async (sizeBytes: number) => {
    const record = await ledger.readTenant(tenant);
    if (!record) throw new Error('No tenant.');
    const outcome = await admitUpload(deps, { tenant: record, repo, objects: new Map([[oid, sizeBytes]]) });
    return outcome.kind === 'answered' ? outcome.verdicts.get(oid) : outcome;
  };
  const logged = (reason: string) =>
    expect(entries).toContainEqual(
      expect.objectContaining({
        message: 'reconcile not requested',
        fields: expect.objectContaining({ tenant, reason }),
      }),
    );

  it('an upload is admitted and verified, and the log says what is missing', async () => {
    const verdict = await upload(60);
    if (verdict?.kind !== 'upload') throw new Error(`${verdict?.kind}`);
    logged('upload');
    objects.put(`${tenant}/${repo}/${oid}`, 60);
    const verifyToken = verdict.verifyToken ?? undefined;
    expect(await verifyUpload(deps, { tenant, repo, oid, sizeBytes: 60, verifyToken })).toEqual({
      kind: 'verified',
    });
    logged('verify');
  });

  it('a batch that must wait for a reconcile fails, because nobody would make it', async () => {
    await ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 90, limitBytes: 100 });
    const nowMs = clock.nowMs();
    await ledger.beginReconcile({ tenant, holder: 'h', nowMs, leaseUntilMs: nowMs + 3_600_000 });
    await expect(upload(60)).rejects.toThrow('Throttled.');
  });
});
