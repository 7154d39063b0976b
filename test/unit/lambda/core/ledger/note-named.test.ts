import { describe, expect, it } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import { PrefixSet } from '../../../../../lambda/core/rules/prefix-set.ts';
import { newTenant } from '../../../../support/ledger-records.ts';
import { ScanningDeps } from '../../../../support/memory/counting-deps.ts';

const tenant = 'acme';
const roundTripMs = 10;
const objects = new Map(Array.from({ length: 100 }, (_, index) => [sha256Hex(`${index}`), 1000]));

async function push(watched: 'open' | 'over' | 'none') {
  const made = new ScanningDeps({ tableMs: roundTripMs, headMs: roundTripMs, listMs: roundTripMs });
  const nowMs = made.deps.clock.nowMs();
  const scanned = { storedBytes: 0, objectCount: 0, scannedAtMs: nowMs };
  await made.ledger.createTenant(newTenant(tenant, { scanned }));
  const record = await made.ledger.readTenant(tenant);
  if (!record) throw new Error('No tenant.');
  const watch = { id: 'w', openedAtMs: 0, untilMs: watched === 'over' ? nowMs - 1 : nowMs };
  const input = { tenant: record, repo: 'app', objects, ...(watched !== 'none' && { watch }) };
  const { result, elapsedMs } = await made.measure(() => admitUpload(made.deps, input));
  const notes = await allPages(made.ledger.seen({ tenant, watchId: 'w', fromMs: 0 }));
  return { result, elapsedMs, notes, calls: made.calls, nowMs };
}

describe('a batch in a repo with a watch', () => {
  it('notes what it names, in the same three round trips, before it reads deletions', async () => {
    const { elapsedMs, notes, calls, nowMs } = await push('open');
    expect(elapsedMs).toBe(3 * roundTripMs);
    const [note, ...others] = notes;
    expect([note?.beganMs, others]).toEqual([nowMs, []]);
    const seen = new PrefixSet();
    seen.addText(note?.prefixes ?? '');
    expect([...objects.keys()].every((oid) => seen.has(oid))).toBe(true);
    const beganMs = (name: string) => calls.find((call) => call.name === name)?.beganMs ?? Number.NaN;
    expect(beganMs('noteSeen')).toBe(beganMs('putReservation'));
    expect(beganMs('deletionsOf')).toBe(beganMs('noteSeen') + roundTripMs);
  });

  it.each(['over', 'none'] as const)('notes nothing if it is %s', async (watched) => {
    const { elapsedMs, notes, calls } = await push(watched);
    expect([elapsedMs, notes]).toEqual([3 * roundTripMs, []]);
    expect(calls.some(({ name }) => name === 'noteSeen')).toBe(false);
  });
});
