import { describe, expect, it } from 'vitest';
import { allPages } from '../../lambda/use-cases/all-pages.ts';
import {
  dueOf,
  type LedgerUnderTest,
  ledgerContext,
  oid,
  reservation,
  reservationPages,
  tenantName,
} from './ledger-context.ts';

export function reservationContract(open: () => Promise<LedgerUnderTest>): void {
  describe('reservations', () => {
    const { get, create } = ledgerContext(open);
    const repo = 'app';
    it('are pending, then issued with what was admitted', async () => {
      const tenant = await create();
      const claims = new Map([
        [oid('a'), 10],
        [oid('b'), 0],
      ]);
      await get().ledger.putReservation({ tenant, reservation: reservation('r1', { claims }) });
      const id = { tenant, repo, reservationId: 'r1' };
      expect(await get().ledger.readReservation(id)).toEqual(reservation('r1', { claims }));
      const admitted = new Map([[oid('b'), 0]]);
      expect(await get().ledger.issueReservation({ ...id, claims: admitted })).toBe('issued');
      expect(await allPages(get().ledger.reservations(tenant))).toEqual([
        reservation('r1', { state: 'issued', claims: admitted }),
      ]);
    });

    it('are put once: a retry changes nothing, even if they are issued', async () => {
      const tenant = await create();
      await get().ledger.putReservation({ tenant, reservation: reservation('r1') });
      await get().ledger.issueReservation({ tenant, repo, reservationId: 'r1', claims: new Map() });
      await get().ledger.putReservation({ tenant, reservation: reservation('r1') });
      expect((await get().ledger.readReservation({ tenant, repo, reservationId: 'r1' }))?.state).toBe(
        'issued',
      );
    });

    it('are issued by a retry too, as the SDK sends it after a lost answer', async () => {
      const tenant = await create();
      await get().ledger.putReservation({ tenant, reservation: reservation('r1') });
      const issue = { tenant, repo, reservationId: 'r1', claims: new Map([[oid('a'), 10]]) };
      for (let time = 0; time < 2; time += 1)
        expect(await get().ledger.issueReservation(issue)).toBe('issued');
      expect(await get().ledger.readReservation(issue)).toEqual(reservation('r1', { state: 'issued' }));
    });

    it('are not created when they are issued after they were voided', async () => {
      const tenant = await create();
      const id = { tenant, repo, reservationId: 'gone' };
      expect(await get().ledger.issueReservation({ ...id, claims: new Map() })).toBe('gone');
      expect(await get().ledger.readReservation(id)).toBeUndefined();
    });

    it('are kept as late, and are due again when they are to be looked at', async () => {
      const tenant = await create({ dueAtMs: 9e15 });
      const key = { tenant, repo, reservationId: 'r1' };
      const claims = new Map([[oid('b'), 7]]);
      expect(await get().ledger.keepLate({ ...key, claims, lookAtMs: 5000 })).toBe('gone');
      await get().ledger.putReservation({ tenant, reservation: reservation('r1', { state: 'issued' }) });
      const isDue = async (nowMs: number) =>
        (await dueOf(get().ledger, { nowMs, tenantsMax: 1000 })).some((due) => due.tenant === tenant);
      expect([await isDue(2999), await isDue(3000)]).toEqual([false, true]);
      for (let time = 0; time < 2; time += 1)
        expect(await get().ledger.keepLate({ ...key, claims, lookAtMs: 5000 })).toBe('kept');
      expect([await isDue(4999), await isDue(5000)]).toEqual([false, true]);
      expect(await get().ledger.readReservation(key)).toEqual(
        reservation('r1', { state: 'issued', claims, lookAtMs: 5000 }),
      );
    });

    it('are put as late ones of deletes, which are due when they are to be looked at', async () => {
      const tenant = await create({ dueAtMs: 9e15 });
      const isDue = async (nowMs: number) =>
        (await dueOf(get().ledger, { nowMs, tenantsMax: 1000 })).some((due) => due.tenant === tenant);
      const late = { state: 'issued', lookAtMs: 5000, deletedByMs: 4000, madeBy: 'github:7' } as const;
      await get().ledger.putReservation({ tenant, reservation: reservation('~r1', late) });
      expect([await isDue(4999), await isDue(5000)]).toEqual([false, true]);
      expect(await allPages(get().ledger.reservations(tenant))).toEqual([reservation('~r1', late)]);
    });

    it('are those of uploads, or of deletes too, of one repo alone', async () => {
      const tenant = await create();
      for (const [id, where] of [
        ['fff', 'app'],
        ['~0a', 'app'],
        ['zzz', 'app'],
        ['aaa', 'app#b'],
        ['~zz', 'app#~'],
      ] as const)
        await get().ledger.putReservation({ tenant, reservation: reservation(id, { repo: where }) });
      const idsOf = async (more: { ofUploads?: true }) =>
        (await allPages(get().ledger.reservationsOf({ tenant, repo: 'app', ...more }))).map(({ id }) => id);
      expect(await idsOf({})).toEqual(['fff', 'zzz', '~0a']);
      expect(await idsOf({ ofUploads: true })).toEqual(['fff', 'zzz']);
    });

    it('make their tenant due when they were put to, and once they are issued at their death', async () => {
      const tenant = await create({ dueAtMs: 9e15 });
      const key = { tenant, repo, reservationId: 'r1' };
      const isDue = async (nowMs: number) =>
        (await dueOf(get().ledger, { nowMs, tenantsMax: 1000 })).some((due) => due.tenant === tenant);
      await get().ledger.putReservation({ tenant, reservation: reservation('r1'), dueAtMs: 1500 });
      expect([await isDue(1499), await isDue(1500)]).toEqual([false, true]);
      expect(await get().ledger.readReservation(key)).toEqual(reservation('r1'));
      for (let time = 0; time < 2; time += 1)
        expect(await get().ledger.issueReservation({ ...key, claims: reservation('r1').claims })).toBe(
          'issued',
        );
      expect([await isDue(2999), await isDue(3000)]).toEqual([false, true]);
      expect(await get().ledger.readReservation(key)).toEqual(reservation('r1', { state: 'issued' }));
    });

    it('are voided only while pending', async () => {
      const tenant = await create();
      await get().ledger.putReservation({ tenant, reservation: reservation('p') });
      await get().ledger.putReservation({ tenant, reservation: reservation('i') });
      await get().ledger.issueReservation({ tenant, repo, reservationId: 'i', claims: new Map() });
      expect(await get().ledger.voidReservation({ tenant, repo, reservationId: 'p' })).toBe('gone');
      expect(await get().ledger.voidReservation({ tenant, repo, reservationId: 'p' })).toBe('gone');
      expect(await get().ledger.voidReservation({ tenant, repo, reservationId: 'i' })).toBe('issued');
      expect((await allPages(get().ledger.reservations(tenant))).map(({ id }) => id)).toEqual(['i']);
    });

    it('are deleted in any state, which is reported once', async () => {
      const tenant = await create();
      await get().ledger.putReservation({ tenant, reservation: reservation('r1') });
      expect(await get().ledger.deleteReservation({ tenant, repo, reservationId: 'r1' })).toBe('deleted');
      expect(await get().ledger.deleteReservation({ tenant, repo, reservationId: 'r1' })).toBe('absent');
    });

    it('are read from every page, and only those of the tenant', async () => {
      const [tenant, other] = [await create(), await create()];
      const claims = new Map(
        Array.from({ length: 1000 }, (_, index) => [index.toString(16).padStart(64, '0'), index]),
      );
      const ids = Array.from({ length: 30 }, (_, index) => `r${String(index).padStart(3, '0')}`);
      for (const id of ids)
        await get().ledger.putReservation({ tenant, reservation: reservation(id, { claims }) });
      await get().ledger.putReservation({ tenant: other, reservation: reservation('theirs') });
      const found = await allPages(get().ledger.reservations(tenant));
      expect(found.map(({ id }) => id).sort()).toEqual(ids);
      expect(found[0]?.claims).toEqual(claims);
    });

    it('are read of one repo alone, from every page', async () => {
      const tenant = await create();
      const long = 'x'.repeat(1000);
      const claims = new Map(
        Array.from({ length: 1000 }, (_, index) => [index.toString(16).padStart(64, '0'), index]),
      );
      const names = ['', 'app', 'app#', 'app#r', 'app.x', 'apq', long, `${long}y`];
      for (const of of names)
        for (const id of ['r1', 'r2'])
          await get().ledger.putReservation({ tenant, reservation: reservation(id, { repo: of }) });
      for (let index = 0; index < 30; index += 1)
        await get().ledger.putReservation({ tenant, reservation: reservation(`s${index}`, { claims }) });
      for (const of of names) {
        const found = await allPages(get().ledger.reservationsOf({ tenant, repo: of }));
        expect(found.length, of).toBe(of === 'app' ? 32 : 2);
        expect(new Set(found.map((one) => one.repo))).toEqual(new Set([of]));
      }
      expect(await allPages(get().ledger.reservationsOf({ tenant, repo: 'none' }))).toEqual([]);
      expect(await allPages(get().ledger.reservations(tenant))).toHaveLength(46);
    });

    it('are listed a page at a time, each once, of the tenant or of one repo', async () => {
      const [tenant, other] = [await create(), await create()];
      const long = 'x'.repeat(1000);
      const names = ['', 'app', 'app#', 'app#r', 'app.x', 'apq', '\u{1f5bf}', long, `${long}y`];
      for (const of of names)
        for (const id of ['r1', 'r2', 'r3'])
          await get().ledger.putReservation({ tenant, reservation: reservation(id, { repo: of }) });
      await get().ledger.putReservation({ tenant: other, reservation: reservation('theirs') });
      const walk = (input: { repo?: string; pageSize: number }) =>
        allPages(reservationPages(get().ledger, { tenant, ...input }));
      const all = await allPages(get().ledger.reservations(tenant));
      for (const pageSize of [1, 2, 27, 28, 1000]) expect(await walk({ pageSize })).toEqual(all);
      for (const of of names) {
        const found = await walk({ repo: of, pageSize: 2 });
        expect(found, of).toEqual(await allPages(get().ledger.reservationsOf({ tenant, repo: of })));
        expect(found).toHaveLength(3);
      }
      expect(await walk({ repo: 'none', pageSize: 2 })).toEqual([]);
      // The last page says so, and what other repos have takes no room of a page.
      const whole = await get().ledger.listReservations({ tenant, repo: 'apq', pageSize: 4 });
      expect([whole.reservations.length, whole.next]).toEqual([3, null]);
      const begun = await get().ledger.listReservations({ tenant, repo: 'apq', pageSize: 2 });
      expect([begun.reservations.length, begun.next]).toEqual([2, { repo: 'apq', reservationId: 'r2' }]);
      expect(await get().ledger.listReservations({ tenant: tenantName(), pageSize: 2 })).toEqual({
        reservations: [],
        next: null,
      });
    });

    it('are listed after one that is gone, or never was, too', async () => {
      const tenant = await create();
      for (const id of ['r1', 'r3'])
        await get().ledger.putReservation({ tenant, reservation: reservation(id) });
      const idsAfter = async (after: { repo: string; reservationId: string }) => {
        const page = await get().ledger.listReservations({ tenant, after, pageSize: 5 });
        return page.reservations.map(({ id }) => id);
      };
      expect(await idsAfter({ repo, reservationId: 'r2' })).toEqual(['r3']);
      expect(await idsAfter({ repo: 'aaa', reservationId: 'r9' })).toEqual(['r1', 'r3']);
      for (const last of ['zoo', '\uffff', '\u{10ffff}'])
        expect(await idsAfter({ repo: last, reservationId: 'r0' })).toEqual([]);
    });
  });
}
