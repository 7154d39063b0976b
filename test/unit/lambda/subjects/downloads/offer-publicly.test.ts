import { describe, expect, it, vi } from 'vitest';
import { LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { offerPublicly } from '../../../../../lambda/subjects/downloads/lfs/public-offers.ts';
import { publicObjectBytesMin } from '../../../../../lambda/subjects/downloads/rules/public-reads.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { MemoryDownloads } from '../../../../support/subjects/downloads/in-memory.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

const [large, small, absent] = ['a', 'b', 'c'].map((digit) => digit.repeat(64)) as [string, string, string];
const least = publicObjectBytesMin;

function setUp(given: { ceiling?: number | null; downloadLimitBytes?: number } = {}) {
  const { ceiling = 100_000, downloadLimitBytes = null } = given;
  const [objects, downloads, clock] = [new MemoryObjectStore(), new MemoryDownloads(), new ManualClock()];
  objects.put(`acme/game/${large}`, 60_000);
  objects.put(`acme/game/${small}`, 10);
  const { log, entries } = recordingLog();
  const deps = memoryDeps({ objects, downloads, clock, log });
  const heads = vi.spyOn(objects, 'head');
  const lists = vi.spyOn(objects, 'listPage');
  const publicRead = { repo: 'game', monthlyLimitBytes: ceiling, sinceMs: 1 };
  const offer = (asked: Readonly<Record<string, number>>) =>
    offerPublicly(deps, {
      tenant: tenantRecord({ downloadLimitBytes }),
      publicRead,
      repoObjects: undefined,
      objects: new Map(Object.entries(asked)),
    });
  const month = new Date(clock.nowMs()).toISOString().slice(0, 7);
  const sums = async () => ({
    repo: await downloads.publicMonth({ tenant: 'acme', repo: 'game', month }),
    tenant: await downloads.month({ tenant: 'acme', month }),
    days: (await downloads.days({ tenant: 'acme', from: month, to: `${month}~`, pageSize: 10 })).days,
  });
  return {
    offer,
    sums,
    entries,
    downloads,
    objects,
    askedStore: () => heads.mock.calls.length + lists.mock.calls.length,
  };
}

describe('what anybody is offered', () => {
  it('counts to the repo’s ceiling and in the tenant’s month, as of a token called public', async () => {
    const { offer, sums } = setUp();
    const outcome = await offer({ [large]: 60_000, [small]: 10 });
    if (outcome.kind !== 'answered') throw new Error('refused');
    expect([...outcome.verdicts.values()].map(({ kind }) => kind)).toEqual(['download', 'download']);
    expect(await sums()).toMatchObject({
      repo: { bytes: 60_000 + least, objects: 2 },
      tenant: { bytes: 60_010, objects: 2 },
      days: [{ repo: 'game', tokenId: 'public', bytes: 60_010, objects: 2 }],
    });
  });

  it('counts for what is not there, or has another size, that it was looked for', async () => {
    const { offer, sums } = setUp();
    expect(await offer({ [large]: 60_001, [absent]: 30_000, [small]: 10 })).toMatchObject({
      kind: 'answered',
    });
    expect(await sums()).toMatchObject({
      repo: { bytes: 3 * least, objects: 1 },
      tenant: { bytes: 10, objects: 1 },
    });
  });

  it('ends at the ceiling, before the store is asked, with numbers', async () => {
    const { offer, sums, askedStore } = setUp();
    await offer({ [large]: 60_000 });
    const before = askedStore();
    const outcome = await offer({ [large]: 60_000, [small]: 10 });
    expect(outcome).toMatchObject({
      kind: 'over-ceiling',
      limitBytes: 100_000,
      offeredBytes: 60_000,
      askedBytes: 60_000 + least,
    });
    if (outcome.kind !== 'over-ceiling') throw new Error('offered');
    expect(new Date(outcome.resetsAtMs).getUTCDate()).toBe(1);
    expect(askedStore()).toBe(before);
    expect(await sums()).toMatchObject({ repo: { bytes: 60_000 }, tenant: { bytes: 60_000 } });
    expect(await offer({ [small]: 10 })).toMatchObject({ kind: 'answered' });
  });

  it('ends at the tenant’s own limit, and then takes off the ceiling only that the store was asked', async () => {
    const { offer, sums } = setUp({ ceiling: 500_000, downloadLimitBytes: 70_000 });
    await offer({ [large]: 60_000 });
    expect(await offer({ [large]: 60_000 })).toMatchObject({ kind: 'over-limit', limitBytes: 70_000 });
    expect(await sums()).toMatchObject({
      // The store was asked for it once more.
      repo: { bytes: 64_096, objects: 1 },
      tenant: { bytes: 60_000, objects: 1 },
    });
  });

  it('makes the store answer no more than the ceiling allows, though the tenant’s month is used up', async () => {
    const { offer, askedStore } = setUp({ ceiling: 20_000, downloadLimitBytes: 5 });
    const kinds: string[] = [];
    for (let time = 0; time < 6; time += 1) kinds.push((await offer({ [small]: 10 })).kind);
    expect(kinds).toEqual([...Array(4).fill('over-limit'), 'over-ceiling', 'over-ceiling']);
    expect(askedStore()).toBeLessThanOrEqual(4);
  });

  it('has no end without a ceiling, and is counted all the same', async () => {
    const { offer, sums } = setUp({ ceiling: null });
    for (let time = 0; time < 3; time += 1)
      expect(await offer({ [large]: 60_000 })).toMatchObject({ kind: 'answered' });
    expect(await sums()).toMatchObject({ repo: { bytes: 180_000, objects: 3 } });
  });

  it('is nothing while the ceiling cannot be looked at', async () => {
    const { offer, downloads, askedStore } = setUp();
    vi.spyOn(downloads, 'publicMonth').mockRejectedValue(new LedgerUnavailableError('down'));
    await expect(offer({ [large]: 60_000 })).rejects.toThrow(LedgerUnavailableError);
    expect(askedStore()).toBe(0);
  });

  it('takes nothing off the ceiling if the store does not answer', async () => {
    const { offer, objects, sums } = setUp();
    vi.spyOn(objects, 'head').mockRejectedValue(new StoreUnavailableError('Down.'));
    for (let time = 0; time < 3; time += 1)
      await expect(offer({ [large]: 60_000 })).rejects.toThrow(StoreUnavailableError);
    expect(await sums()).toMatchObject({ repo: { bytes: 0, objects: 0 }, tenant: { bytes: 0 } });
  });

  it('gives back what the tenant’s month did not take, whatever failed, and says if it cannot', async () => {
    const { offer, downloads, sums, entries } = setUp({ downloadLimitBytes: 1_000_000 });
    vi.spyOn(downloads, 'meter').mockRejectedValueOnce(new LedgerUnavailableError('down'));
    await expect(offer({ [large]: 60_000 })).rejects.toThrow(LedgerUnavailableError);
    expect(await sums()).toMatchObject({ repo: { bytes: 0, objects: 0 } });
    vi.spyOn(downloads, 'meter').mockResolvedValueOnce('over-limit');
    const error = new LedgerUnavailableError('down');
    vi.spyOn(downloads, 'correctPublic').mockRejectedValueOnce(error);
    expect(await offer({ [large]: 60_000 })).toMatchObject({ kind: 'over-limit' });
    expect(entries).toEqual([
      { level: 'warn', message: 'downloads not corrected', fields: { tenant: 'acme', repo: 'game', error } },
    ]);
  });

  it('ends at the ceiling though others were offered the rest of it while the store was asked', async () => {
    const { offer, objects, sums } = setUp();
    const head = objects.head.bind(objects);
    vi.spyOn(objects, 'head').mockImplementationOnce(async (key) => {
      await offer({ [large]: 60_000 });
      return head(key);
    });
    const outcome = await offer({ [large]: 60_000 });
    expect(outcome).toMatchObject({
      kind: 'over-ceiling',
      limitBytes: 100_000,
      offeredBytes: 60_000,
      askedBytes: 60_000,
    });
    expect(await sums()).toMatchObject({ repo: { bytes: 60_000 }, tenant: { bytes: 60_000 } });
  });
});
