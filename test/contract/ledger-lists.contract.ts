import { describe, expect, it } from 'vitest';
import { newDeletion } from '../../lambda/core/ledger/rules/deletion.ts';
import { allPages } from '../../lambda/core/rules/async.ts';
import { walk } from '../support/walk.ts';
import { ledgerContext, type OpenTable, oid, tenantName } from './ledger-context.ts';

/** Where an item stands: `repo id`. */
type Place = { readonly repo: string; readonly id: string };
const placesOf = (items: readonly Place[]): Place[] => items.map(({ repo, id }) => ({ repo, id }));

/** The two lists of a tenant that can have many items in each of many repos. */
export function listContract(table: OpenTable): void {
  describe('a list', () => {
    const { ledger, create, reserve } = ledgerContext(table);
    interface List {
      put(tenant: string, place: Place): Promise<unknown>;
      all(tenant: string): Promise<Place[]>;
      of(path: { tenant: string; repo: string }): Promise<Place[]>;
      page(input: {
        tenant: string;
        repo?: string;
        pageSize: number;
        after?: Place | undefined;
      }): Promise<readonly [Place[], Place | null]>;
    }
    const reservations: List = {
      put: (tenant, { repo, id }) => reserve(tenant, id, { repo }),
      all: async (tenant) => placesOf(await allPages(ledger.reservations(tenant))),
      of: async (path) => placesOf(await allPages(ledger.reservationsOf(path))),
      page: async ({ after, ...input }) => {
        const from = after && { after: { repo: after.repo, reservationId: after.id } };
        const { reservations: found, next } = await ledger.listReservations({ ...input, ...from });
        return [placesOf(found), next && { repo: next.repo, id: next.reservationId }];
      },
    };
    const deletions: List = {
      put: (tenant, { repo, id }) => {
        const deletion = newDeletion({ id, repo, objects: new Map([[oid('a'), 1]]), dueAtMs: 700 });
        return ledger.putDeletion({ tenant, deletion });
      },
      all: async (tenant) => placesOf(await allPages(ledger.deletions(tenant))),
      of: async (path) => placesOf(await allPages(ledger.deletionsOf(path))),
      page: async ({ after, ...input }) => {
        const from = after && { after: { repo: after.repo, deletionId: after.id } };
        const { deletions: found, next } = await ledger.listDeletions({ ...input, ...from });
        return [placesOf(found), next && { repo: next.repo, id: next.deletionId }];
      },
    };

    describe.each([
      ['of reservations', reservations, ['r1', 'r2', 'r3']],
      ['of deletions', deletions, ['d1', 'd3', 'gc-d-2']],
    ])('%s', (_, list, ids) => {
      const [first = '', second = '', third = ''] = ids;

      it('is read a page at a time, each item once, of the tenant or of one repo', async () => {
        const [tenant, other] = [await create(), await create()];
        const long = 'x'.repeat(1000);
        const repos = ['', 'app', 'app#', 'app#r', 'app.x', 'apq', '\u{1f5bf}', long, `${long}y`];
        for (const repo of repos) for (const id of ids) await list.put(tenant, { repo, id });
        await list.put(other, { repo: 'app', id: 'theirs' });
        const found = async (input: { repo?: string; pageSize: number }) => {
          const pages = await walk((after: Place | undefined) => list.page({ tenant, ...input, after }));
          for (const page of pages) expect(page.length).toBeLessThanOrEqual(input.pageSize);
          return pages.flat();
        };
        const all = await list.all(tenant);
        expect(all).toHaveLength(27);
        for (const pageSize of [1, 2, 27, 28, 1000]) expect(await found({ pageSize })).toEqual(all);
        for (const repo of repos) {
          const ofRepo = ids.map((id) => ({ repo, id }));
          expect(await list.of({ tenant, repo })).toEqual(ofRepo);
          expect(await found({ repo, pageSize: 2 })).toEqual(ofRepo);
        }
        expect(await found({ repo: 'none', pageSize: 2 })).toEqual([]);
        const [begun, next] = await list.page({ tenant, repo: 'apq', pageSize: 2 });
        expect([begun.length, next]).toEqual([2, { repo: 'apq', id: second }]);
        // The last page says so, and what other repos have takes no room of a page.
        const [whole, end] = await list.page({ tenant, repo: 'apq', pageSize: 4 });
        expect([whole.length, end]).toEqual([3, null]);
        expect(await list.page({ tenant: tenantName(), pageSize: 2 })).toEqual([[], null]);
      });

      it('is read from an item that is gone, or never was, too', async () => {
        const tenant = await create();
        for (const id of [first, third]) await list.put(tenant, { repo: 'app', id });
        const idsAfter = async (repo: string, id: string) => {
          const [found] = await list.page({ tenant, after: { repo, id }, pageSize: 5 });
          return found.map((place) => place.id);
        };
        expect(await idsAfter('app', second)).toEqual([third]);
        expect(await idsAfter('aaa', 'x')).toEqual([first, third]);
        for (const last of ['zoo', '\uffff', '\u{10ffff}']) expect(await idsAfter(last, '0')).toEqual([]);
      });
    });
  });
}
