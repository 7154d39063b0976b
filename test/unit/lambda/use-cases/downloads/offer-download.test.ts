import { describe, expect, it, vi } from 'vitest';
import type { Downloads } from '../../../../../lambda/adapters/dynamodb/downloads.ts';
import { emptiedName } from '../../../../../lambda/domain/deletion.ts';
import { LedgerUnavailableError } from '../../../../../lambda/rules/system.ts';
import { offerDownload } from '../../../../../lambda/use-cases/downloads/offer-download.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { MemoryDownloads } from '../../../../support/memory/stores.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

const [stored, other, absent] = ['a', 'b', 'c'].map((digit) => digit.repeat(64)) as [string, string, string];

function setUp(given: { downloads?: Downloads; downloadLimitBytes?: number } = {}) {
  const { downloads = new MemoryDownloads(), downloadLimitBytes = null } = given;
  const objects = new MemoryObjectStore();
  for (const [oid, size] of [
    [stored, 60],
    [other, 30],
  ] as const)
    objects.put(`acme/game/${oid}`, size);
  const heads = vi.spyOn(objects, 'head');
  const { log, entries } = recordingLog();
  const clock = new ManualClock();
  const deps = memoryDeps({ objects, downloads, clock, log });
  const tenant = tenantRecord({ downloadLimitBytes });
  const offer = (asked: Readonly<Record<string, number>>) =>
    offerDownload(deps, { tenant, tokenId: 't', repo: 'game', objects: new Map(Object.entries(asked)) });
  const month = new Date(clock.nowMs()).toISOString().slice(0, 7);
  return { offer, entries, clock, heads, offered: () => downloads.month({ tenant: 'acme', month }) };
}

const isDown = () => Promise.reject(new LedgerUnavailableError('down'));
const down: Downloads = {
  meter: isDown,
  addToDay: isDown,
  meterPublic: isDown,
  correctPublic: isDown,
  publicMonth: isDown,
  month: isDown,
  months: isDown,
  days: isDown,
};

describe('an offer of downloads', () => {
  it('is metered by what it offers, not by what it was asked for', async () => {
    const { offer, offered } = setUp();
    const outcome = await offer({ [stored]: 60, [other]: 31, [absent]: 1000 });
    if (outcome.kind !== 'answered') throw new Error('refused');
    expect([...outcome.verdicts].map(([oid, { kind }]) => [oid[0], kind])).toEqual([
      ['a', 'download'],
      ['b', 'size-conflict'],
      ['c', 'missing'],
    ]);
    expect(await offered()).toEqual({ bytes: 60, objects: 1 });
  });

  it('above the limit of the month is refused as a whole, and not metered', async () => {
    const { offer, offered, clock } = setUp({ downloadLimitBytes: 100 });
    expect(await offer({ [stored]: 60 })).toMatchObject({ kind: 'answered' });
    const outcome = await offer({ [stored]: 60, [other]: 30 });
    expect(outcome).toMatchObject({ kind: 'over-limit', limitBytes: 100, offeredBytes: 60, askedBytes: 90 });
    if (outcome.kind !== 'over-limit') throw new Error('offered');
    const resets = new Date(outcome.resetsAtMs);
    expect([resets.getUTCDate(), resets.getUTCHours(), outcome.resetsAtMs > clock.nowMs()]).toEqual([
      1,
      0,
      true,
    ]);
    expect(await offer({ [other]: 30 })).toMatchObject({ kind: 'answered' });
    expect(await offered()).toEqual({ bytes: 90, objects: 2 });
  });

  it('keeps nobody else from downloading by sizes that a client made up, while the store is asked', async () => {
    const { offer, heads } = setUp({ downloadLimitBytes: 100 });
    let answer = () => {};
    heads.mockImplementationOnce(async () => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return undefined;
    });
    const made = offer({ [absent]: 1e12 });
    expect(await offer({ [stored]: 60 })).toMatchObject({ kind: 'answered' });
    answer();
    expect(await made).toMatchObject({ kind: 'answered' });
    expect(await offer({ [absent]: 1e12, [other]: 31 })).toMatchObject({ kind: 'answered' });
  });

  it('of nothing that is there is not metered, though the meter does not answer', async () => {
    const { offer, entries } = setUp({ downloads: down, downloadLimitBytes: 100 });
    expect(await offer({ [absent]: 60 })).toMatchObject({ kind: 'answered' });
    expect(entries).toEqual([]);
  });

  it('goes on without a meter that does not answer, unless there is a limit', async () => {
    const free = setUp({ downloads: down });
    expect(await free.offer({ [stored]: 60 })).toMatchObject({ kind: 'answered' });
    const error = new LedgerUnavailableError('down');
    const entry = {
      level: 'warn',
      message: 'downloads not metered',
      fields: { tenant: 'acme', repo: 'game', error },
    };
    expect(free.entries).toEqual([entry, entry]);
    await expect(setUp({ downloads: down, downloadLimitBytes: 100 }).offer({ [stored]: 60 })).rejects.toThrow(
      LedgerUnavailableError,
    );
  });

  it('within a limit is made though only its day is not written down', async () => {
    const downloads = new MemoryDownloads();
    vi.spyOn(downloads, 'addToDay').mockRejectedValue(new LedgerUnavailableError('down'));
    const { offer, offered, entries } = setUp({ downloads, downloadLimitBytes: 100 });
    expect(await offer({ [stored]: 60 })).toMatchObject({ kind: 'answered' });
    expect(await offered()).toEqual({ bytes: 60, objects: 1 });
    expect(entries).toMatchObject([{ message: 'downloads not metered' }]);
    expect(await offer({ [stored]: 60 })).toMatchObject({ kind: 'over-limit' });
  });

  it('asks why objects are missing, and of no others', async () => {
    const objects = new MemoryObjectStore();
    objects.put(`acme/game/${stored}`, 60);
    const deps = memoryDeps({ objects });
    const asked: object[] = [];
    const ledger = Object.assign(deps.ledger, {
      goneOf: async (input: object) => {
        asked.push(input);
        return new Map();
      },
    });
    const sizes = new Map([
      [stored, 60],
      [absent, 5],
    ]);
    const input = { tenant: tenantRecord(), tokenId: 't', repo: 'game', objects: sizes };
    await offerDownload({ ...deps, ledger }, input);
    expect(asked).toEqual([{ tenant: 'acme', repo: 'game', oids: [absent, emptiedName] }]);
  });

  it('signs as of its beginning, and says how long the URL is still good', async () => {
    const objects = new MemoryObjectStore();
    objects.put(`acme/game/${stored}`, 60);
    const clock = new ManualClock();
    const beganMs = clock.nowMs();
    const signed: object[] = [];
    const signer = {
      signUpload: () => Promise.reject(new Error('Nothing is uploaded.')),
      signDownload: async (input: object) => {
        signed.push(input);
        clock.advance(2_000);
        return { href: 'https://store.example/', header: {} };
      },
    };
    const deps = memoryDeps({ objects, clock, signer });
    const lifetimeMs = deps.settings.urlLifetimeMs;
    const input = { tenant: tenantRecord(), tokenId: 't', repo: 'game', objects: new Map([[stored, 60]]) };
    const outcome = await offerDownload(deps, input);
    expect(outcome.kind === 'answered' && outcome.verdicts.get(stored)).toMatchObject({
      expiresInMs: lifetimeMs - 2_000,
    });
    expect(signed).toEqual([{ key: `acme/game/${stored}`, signedAtMs: beganMs, lifetimeMs }]);
  });
});
