import { describe, expect, it } from 'vitest';
import { allPages } from '../../lambda/core/rules/async.ts';
import { reservation } from '../support/ledger-records.ts';
import { ledgerContext, type OpenTable, oid } from './ledger-context.ts';

export function reservationContract(table: OpenTable): void {
  describe('reservations', () => {
    const { ledger, create, reserve, dueAt } = ledgerContext(table);
    const repo = 'app';
    const entries = new Map([[oid('a'), 10]]);
    const all = (tenant: string) => allPages(ledger.reservations(tenant));
    const read = (tenant: string) => ledger.readReservation({ tenant, repo, reservationId: 'r1' });
    const issue = (tenant: string, of = entries) =>
      ledger.issueReservation({ tenant, repo, reservationId: 'r1', entries: of });

    it('are pending, then issued with what was admitted', async () => {
      const tenant = await create();
      const both = new Map([...entries, [oid('b'), 0], ['constructor', 1], ['a/b.png', 2]]);
      await reserve(tenant, 'r1', { entries: both });
      expect(await read(tenant)).toEqual(reservation('r1', { entries: both }));
      const admitted = new Map([[oid('b'), 0]]);
      expect(await issue(tenant, admitted)).toBe('issued');
      expect(await all(tenant)).toEqual([reservation('r1', { state: 'issued', entries: admitted })]);
    });

    it('are put and issued once: a retry changes nothing, as the SDK sends it after a lost answer', async () => {
      const tenant = await create();
      await reserve(tenant, 'r1');
      for (let time = 0; time < 2; time += 1) expect(await issue(tenant)).toBe('issued');
      await reserve(tenant, 'r1');
      expect(await read(tenant)).toEqual(reservation('r1', { state: 'issued' }));
    });

    it('are not created when they are issued after they were voided', async () => {
      const tenant = await create();
      expect(await issue(tenant)).toBe('gone');
      expect(await read(tenant)).toBeUndefined();
    });

    it('are kept as late, and are due again when they are to be looked at', async () => {
      const tenant = await create();
      const unconfirmed = { entries: new Map([[oid('b'), 7]]), lookAtMs: 5000 };
      const keep = () => ledger.keepUnconfirmed({ tenant, repo, reservationId: 'r1', ...unconfirmed });
      expect(await keep()).toBe('gone');
      await reserve(tenant, 'r1', { state: 'issued' });
      expect([await dueAt(tenant, 2999), await dueAt(tenant, 3000)]).toEqual(['nothing', 'some']);
      for (let time = 0; time < 2; time += 1) expect(await keep()).toBe('kept');
      expect([await dueAt(tenant, 4999), await dueAt(tenant, 5000)]).toEqual(['nothing', 'some']);
      expect(await read(tenant)).toEqual(reservation('r1', { state: 'issued', ...unconfirmed }));
    });

    it('live as long as a chunked upload of theirs can, and then lapse when it ended', async () => {
      const tenant = await create();
      const key = { tenant, repo, reservationId: 'r1' };
      const both = new Map([
        [oid('a'), 10],
        [oid('b'), 20],
      ]);
      await reserve(tenant, 'r1', { entries: both });
      const chunked = { oids: [...both.keys()], untilMs: 9000 };
      const issueInChunks = () => ledger.issueReservation({ ...key, entries: both, chunked });
      for (let time = 0; time < 2; time += 1) expect(await issueInChunks()).toBe('issued');
      const live = { state: 'issued', expiresAtMs: 9000, lapsedAtMs: 9000 } as const;
      expect(await read(tenant)).toEqual(
        reservation('r1', { ...live, entries: both, chunked: new Set(chunked.oids) }),
      );
      expect([await dueAt(tenant, 8999), await dueAt(tenant, 9000)]).toEqual(['nothing', 'some']);
      const endA = () => ledger.endChunked({ ...key, oid: oid('a'), isGone: true, endedMs: 6000 });
      expect([await endA(), await endA()]).toEqual(['ended', 'absent']);
      const onlyB = { entries: new Map([[oid('b'), 20]]) };
      expect(await read(tenant)).toEqual(
        reservation('r1', { ...live, ...onlyB, chunked: new Set([oid('b')]) }),
      );
      // It lands late.
      expect(await issueInChunks()).toBe('gone');
      const endB = { ...key, oid: oid('b'), isGone: false, endedMs: 7000 };
      expect(await ledger.endChunked(endB)).toBe('ended');
      const { expiresAtMs } = reservation('r1');
      const ended = { state: 'issued', expiresAtMs, lapsedAtMs: 7000 } as const;
      expect(await read(tenant)).toEqual(reservation('r1', { ...ended, ...onlyB }));
      expect([await dueAt(tenant, 6999), await dueAt(tenant, 7000)]).toEqual(['nothing', 'some']);
      expect([await issueInChunks(), await ledger.endChunked(endB)]).toEqual(['gone', 'absent']);
    });

    it('are not ended with a chunked upload that they never had', async () => {
      const tenant = await create();
      const end = () =>
        ledger.endChunked({ tenant, repo, reservationId: 'r1', oid: oid('a'), isGone: true, endedMs: 1 });
      expect(await end()).toBe('absent');
      await reserve(tenant, 'r1', { state: 'issued' });
      expect(await end()).toBe('absent');
      expect(await read(tenant)).toEqual(reservation('r1', { state: 'issued' }));
    });

    it('are put as unconfirmed ones of deletes, which are due when they are to be looked at', async () => {
      const tenant = await create();
      const unconfirmed = { state: 'issued', lookAtMs: 5000, deletedByMs: 4000, madeBy: 'github:7' } as const;
      await reserve(tenant, '~r1', unconfirmed);
      expect([await dueAt(tenant, 4999), await dueAt(tenant, 5000)]).toEqual(['nothing', 'some']);
      expect(await all(tenant)).toEqual([reservation('~r1', unconfirmed)]);
    });

    it('are those of uploads, or of deletes too, of one repo alone', async () => {
      const tenant = await create();
      for (const id of ['fff', '~0a', 'zzz']) await reserve(tenant, id);
      await reserve(tenant, 'aaa', { repo: 'app#b' });
      await reserve(tenant, '~zz', { repo: 'app#~' });
      const idsOf = async (more: { ofUploads?: true }) =>
        (await allPages(ledger.reservationsOf({ tenant, repo, ...more }))).map(({ id }) => id);
      expect(await idsOf({})).toEqual(['fff', 'zzz', '~0a']);
      expect(await idsOf({ ofUploads: true })).toEqual(['fff', 'zzz']);
    });

    it('make their tenant due when they were put to, and once they are issued at their death', async () => {
      const tenant = await create();
      await ledger.putReservation({ tenant, reservation: reservation('r1'), dueAtMs: 1500 });
      expect([await dueAt(tenant, 1499), await dueAt(tenant, 1500)]).toEqual(['nothing', 'some']);
      expect(await read(tenant)).toEqual(reservation('r1'));
      for (let time = 0; time < 2; time += 1) expect(await issue(tenant)).toBe('issued');
      expect([await dueAt(tenant, 2999), await dueAt(tenant, 3000)]).toEqual(['nothing', 'some']);
    });

    it('are voided only while pending', async () => {
      const tenant = await create();
      for (const id of ['r1', 'p']) await reserve(tenant, id);
      await issue(tenant);
      const voided = (reservationId: string) => ledger.voidReservation({ tenant, repo, reservationId });
      expect([await voided('p'), await voided('p'), await voided('r1')]).toEqual(['gone', 'gone', 'issued']);
      expect((await all(tenant)).map(({ id }) => id)).toEqual(['r1']);
    });

    it('are deleted in any state, which is reported once', async () => {
      const tenant = await create();
      await reserve(tenant, 'r1');
      const remove = () => ledger.deleteReservation({ tenant, repo, reservationId: 'r1' });
      expect([await remove(), await remove()]).toEqual(['deleted', 'absent']);
    });

    it('are read from every page, and only those of the tenant, or of one repo', async () => {
      const [tenant, other] = [await create(), await create()];
      const many = new Map(
        Array.from({ length: 1000 }, (_, index) => [index.toString(16).padStart(64, '0'), index]),
      );
      const ids = Array.from({ length: 30 }, (_, index) => `r${String(index).padStart(3, '0')}`);
      for (const id of ids) await reserve(tenant, id, { entries: many });
      await reserve(tenant, 'of another repo', { repo: 'app#' });
      await reserve(other, 'theirs');
      const found = await allPages(ledger.reservationsOf({ tenant, repo }));
      expect(found.map(({ id }) => id)).toEqual(ids);
      expect(found[0]?.entries).toEqual(many);
      expect(await all(tenant)).toHaveLength(31);
    });
  });
}
