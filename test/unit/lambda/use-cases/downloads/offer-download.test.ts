import { describe, expect, it } from 'vitest';
import type { Downloads } from '../../../../../lambda/ports/downloads.ts';
import { LedgerUnavailableError } from '../../../../../lambda/ports/ledger.ts';
import { offerDownload } from '../../../../../lambda/use-cases/downloads/offer-download.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryDownloads } from '../../../../support/memory/downloads.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
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
  const { log, entries } = recordingLog();
  const clock = new ManualClock();
  const deps = memoryDeps({ objects, downloads, clock, log });
  const tenant = tenantRecord({ downloadLimitBytes });
  const offer = (asked: Readonly<Record<string, number>>) =>
    offerDownload(deps, { tenant, tokenId: 't', repo: 'game', objects: new Map(Object.entries(asked)) });
  const month = new Date(clock.nowMs()).toISOString().slice(0, 7);
  return { offer, entries, clock, offered: () => downloads.month({ tenant: 'acme', month }) };
}

const down: Downloads = {
  meter: () => Promise.reject(new LedgerUnavailableError('down')),
  correct: () => Promise.reject(new LedgerUnavailableError('down')),
  meterPublic: () => Promise.reject(new LedgerUnavailableError('down')),
  correctPublic: () => Promise.reject(new LedgerUnavailableError('down')),
  publicMonth: () => Promise.reject(new LedgerUnavailableError('down')),
  month: () => Promise.reject(new LedgerUnavailableError('down')),
  months: () => Promise.reject(new LedgerUnavailableError('down')),
  days: () => Promise.reject(new LedgerUnavailableError('down')),
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

  it('goes on without a meter that does not answer, unless there is a limit', async () => {
    const free = setUp({ downloads: down });
    expect(await free.offer({ [stored]: 60 })).toMatchObject({ kind: 'answered' });
    expect(free.entries).toMatchObject([{ level: 'warn', message: 'downloads not metered' }]);
    await expect(setUp({ downloads: down, downloadLimitBytes: 100 }).offer({ [stored]: 60 })).rejects.toThrow(
      LedgerUnavailableError,
    );
  });

  it('tells whose downloads are not metered, or not corrected', async () => {
    const error = new LedgerUnavailableError('down');
    const free = setUp({ downloads: { ...down, meter: () => Promise.reject(error) } });
    await free.offer({ [stored]: 60 });
    expect(free.entries[0]?.fields).toEqual({ tenant: 'acme', repo: 'game', error });
    const corrected = setUp({
      downloads: { ...down, meter: async () => 'metered', correct: () => Promise.reject(error) },
    });
    await corrected.offer({ [absent]: 60 });
    expect(corrected.entries[0]?.fields).toEqual({ tenant: 'acme', repo: 'game', error });
  });

  it('that was not metered is not corrected', async () => {
    const { offer, entries } = setUp({ downloads: down });
    await offer({ [stored]: 60, [absent]: 5 });
    expect(entries.map(({ message }) => message)).toEqual(['downloads not metered']);
  });

  it('is corrected for objects that have no bytes, and not if all is offered', async () => {
    const { offer, offered } = setUp();
    await offer({ [stored]: 60, [absent]: 0 });
    expect(await offered()).toEqual({ bytes: 60, objects: 1 });
    const corrections: object[] = [];
    const downloads: Downloads = {
      ...down,
      meter: async () => 'metered',
      correct: async (difference) => void corrections.push(difference),
    };
    const other = setUp({ downloads });
    await other.offer({ [stored]: 60 });
    expect(corrections).toEqual([]);
    await other.offer({ [absent]: 0 });
    expect(corrections).toMatchObject([{ tenant: 'acme', repo: 'game', tokenId: 't', objects: -1 }]);
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
    expect(asked).toEqual([{ tenant: 'acme', repo: 'game', oids: [absent] }]);
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

  it('is answered when only its correction fails', async () => {
    const { offer, entries } = setUp({ downloads: { ...down, meter: async () => 'metered' } });
    expect(await offer({ [stored]: 60 })).toMatchObject({ kind: 'answered' });
    expect(entries).toEqual([]);
    expect(await offer({ [absent]: 60 })).toMatchObject({ kind: 'answered' });
    expect(entries).toMatchObject([{ level: 'warn', message: 'downloads not corrected' }]);
  });
});
