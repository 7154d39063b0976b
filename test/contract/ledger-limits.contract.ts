import { describe, expect, it } from 'vitest';
import { repoLimitsMax } from '../../lambda/core/ledger/rules/tenant.ts';
import { setRepoLimit } from '../support/over-settings.ts';
import { ledgerContext, type OpenTable, scanned, tenantName } from './ledger-context.ts';

const app = 'art/app # 1';

/** Limits of single repos. */
export function limitContract(table: OpenTable): void {
  describe('the limit of a repo', () => {
    const { ledger, create, add, begin, commit } = ledgerContext(table);
    const limitOf = async (tenant: string, repo = app) =>
      (await ledger.readTenant(tenant))?.repoLimits.get(repo);
    const addTo = (tenant: string, sumBytes: number, limitBytes: number | null, more = {}) =>
      add(tenant, sumBytes, { repo: { name: app, limitBytes }, ...more });
    const setLimit = (tenant: string, limitBytes: number | null, repo = app) =>
      setRepoLimit(ledger, { tenant, repo, limitBytes });
    const found = { limitBytes: 50, storedBytes: 20, confirmedBaseBytes: 15, confirmedUntilMs: 7 };
    const counterOf = async (tenant: string) => (await limitOf(tenant))?.scanned?.committedBytes;
    /** Counts the tenant, and what is given of repos that have a limit. */
    const count = async (tenant: string, corrections: Readonly<Record<string, number>>, more = {}) => {
      const begun = await begin(tenant);
      if (begun.kind !== 'begun') throw new Error(begun.kind);
      const repoLimits = new Map(
        Object.entries(corrections).map(([repo, correctionBytes]) => [repo, { ...found, correctionBytes }]),
      );
      return (await commit(tenant, begun.epoch, { repoLimits, ...more })).kind;
    };
    /** A tenant with a limit of 50 bytes in a repo, of which 20 are counted. */
    const createLimited = async () => {
      const tenant = await create();
      await setLimit(tenant, 50);
      await count(tenant, { [app]: 20 });
      return tenant;
    };

    it('admits nothing until the repo was counted', async () => {
      const tenant = await create();
      const set = await setLimit(tenant, 50);
      expect(set?.repoLimits).toEqual(new Map([[app, { limitBytes: 50, scanned: null }]]));
      expect(await addTo(tenant, 1, 50)).toBe('refused');
      expect(await count(tenant, { [app]: 20 })).toBe('committed');
      expect(await limitOf(tenant)).toEqual({
        limitBytes: 50,
        scanned: { committedBytes: 20, storedBytes: 20, confirmedBaseBytes: 15, confirmedUntilMs: 7 },
      });
      expect(await addTo(tenant, 1, 50)).toBe('added');
    });

    it('is refused if somebody’s claims were found late since it was read, of the tenant or of the repo', async () => {
      const tenant = await create();
      await setLimit(tenant, 50);
      const unconfirmed = { bytes: 70, makers: new Map([['ada.b#c', 9]]), crowd: new Map([['github:7', 8]]) };
      const limit = { ...found, correctionBytes: 0 };
      const isRefused = async () => {
        const kinds = [];
        for (const [bytes, limitBytes] of [[69], [70], [undefined], [0, 'any']] as const) {
          const unconfirmedMax = bytes !== undefined && {
            unconfirmedMax: { tenantBytes: bytes, repoBytes: bytes },
          };
          kinds.push(await addTo(tenant, 1, 50, { ...unconfirmedMax, ...(limitBytes && { limitBytes }) }));
        }
        expect(kinds.slice(1)).toEqual(['added', 'added', 'added']);
        return kinds[0] === 'refused';
      };
      const countUnconfirmed = (ofTenant: boolean, ofRepo: boolean) =>
        count(
          tenant,
          {},
          {
            entriesCounted: 5,
            ...(ofTenant && { unconfirmed }),
            repoLimits: new Map([[app, { ...limit, ...(ofRepo && { unconfirmed }) }]]),
          },
        );
      await countUnconfirmed(false, false);
      expect(await isRefused()).toBe(false);
      await countUnconfirmed(true, false);
      expect(await ledger.readTenant(tenant)).toMatchObject({ unconfirmed, entriesCounted: 5 });
      expect(await isRefused()).toBe(true);
      await countUnconfirmed(false, true);
      expect((await ledger.readTenant(tenant))?.unconfirmed).toBeUndefined();
      expect((await limitOf(tenant))?.scanned?.unconfirmed).toEqual(unconfirmed);
      expect(await isRefused()).toBe(true);
      await countUnconfirmed(false, false);
      expect(await isRefused()).toBe(false);
    });

    it('takes no more beside what the caller says that the counters hold at most', async () => {
      const tenant = await createLimited();
      const kinds = [];
      for (const beforeMax of [
        { tenantBytes: -1 },
        { repoBytes: 19 },
        { tenantBytes: 0, repoBytes: 20 },
        { tenantBytes: 0 },
        { repoBytes: 20 },
        { tenantBytes: 1, repoBytes: 21 },
      ])
        kinds.push(await addTo(tenant, 1, 50, { beforeMax }));
      expect(kinds).toEqual(['refused', 'refused', 'added', 'refused', 'refused', 'added']);
    });

    it('is kept to the byte, beside that of the tenant', async () => {
      const tenant = await createLimited();
      expect(await addTo(tenant, 31, 50)).toBe('refused');
      expect((await ledger.readTenant(tenant))?.committedBytes).toBe(0);
      expect([await addTo(tenant, 30, 50), await addTo(tenant, 0, 50)]).toEqual(['added', 'added']);
      expect(await counterOf(tenant)).toBe(50);
      expect((await ledger.readTenant(tenant))?.committedBytes).toBe(30);
      // Another repo may have the rest of the tenant's.
      const web = { repo: { name: 'web', limitBytes: null } };
      expect([await add(tenant, 71, web), await add(tenant, 70, web)]).toEqual(['refused', 'added']);
      await setLimit(tenant, 80);
      await count(tenant, { [app]: 0 });
      // The commit says what the limit was when it began.
      expect(await addTo(tenant, 1, 50)).toBe('refused');
    });

    it('must be as it was read', async () => {
      const tenant = await create();
      expect(await addTo(tenant, 1, 50)).toBe('refused');
      await setLimit(tenant, 50);
      await count(tenant, { [app]: 0 });
      const kinds = [await addTo(tenant, 1, null), await addTo(tenant, 1, 51), await addTo(tenant, 1, 50)];
      expect(kinds).toEqual(['refused', 'refused', 'added']);
    });

    it('does not matter to what has no bytes', async () => {
      const tenant = await create();
      await setLimit(tenant, 0);
      expect(await addTo(tenant, 0, 0, { limitBytes: 'any' })).toBe('added');
      expect(await limitOf(tenant)).toEqual({ limitBytes: 0, scanned: null });
    });

    it('ends a reconcile that is running, and what was counted by the one before', async () => {
      const tenant = await createLimited();
      const begun = await begin(tenant);
      const epoch = begun.kind === 'begun' ? begun.epoch : 0;
      await setLimit(tenant, 40);
      expect(await limitOf(tenant)).toEqual({ limitBytes: 40, scanned: null });
      const repoLimits = new Map([[app, { ...found, correctionBytes: 1 }]]);
      expect((await commit(tenant, epoch, { repoLimits })).kind).toBe('superseded');
      // Nobody waits for the lease of the one that was ended.
      expect((await ledger.readTenant(tenant))?.leaseUntilMs).toBe(0);
    });

    it('is lifted with its counter, so that another one begins uncounted', async () => {
      const tenant = await create();
      await setLimit(tenant, 50);
      await setLimit(tenant, 60, 'web');
      await count(tenant, { [app]: 20, web: 3 });
      expect([...((await setLimit(tenant, null))?.repoLimits.keys() ?? [])]).toEqual(['web']);
      expect(await addTo(tenant, 60, null)).toBe('added');
      const again = await setLimit(tenant, 50);
      expect(again?.repoLimits.get(app)).toEqual({ limitBytes: 50, scanned: null });
      expect(again?.repoLimits.get('web')?.scanned?.committedBytes).toBe(3);
    });

    it('fits for as many repos as may have one, in one commit with as many notes as it removes', async () => {
      const tenant = await create({ scanned: scanned(1) });
      const repos = Array.from({ length: repoLimitsMax }, (_, index) => `teams/games/repo-${index}`);
      for (const repo of repos) await setLimit(tenant, 50, repo);
      const expiredIntents = Array.from({ length: 100 }, (_, index) => `note-${index}`.padEnd(32, 'x'));
      const note = { repo: app, bytes: 1, deadlineMs: 5 };
      for (const intentId of expiredIntents) await ledger.announceDelete({ tenant, intentId, note });
      const big = { ...found, storedBytes: 2 ** 52, confirmedBaseBytes: 2 ** 52, confirmedUntilMs: 2 ** 52 };
      const repoLimits = new Map(repos.map((repo) => [repo, { ...big, correctionBytes: 2 ** 52 }]));
      const more = { listedUntilMs: 5, shardsListedUntilMs: 6, listedObjectCount: 7, fullScannedAtMs: 8 };
      expect(await count(tenant, {}, { ...more, expiredIntents, repoLimits })).toBe('committed');
      const record = await ledger.readTenant(tenant);
      expect([record?.intents.size, record?.repoLimits.size]).toEqual([0, repoLimitsMax]);
      for (const limit of record?.repoLimits.values() ?? [])
        expect(limit.scanned).toMatchObject({ committedBytes: 2 ** 52, confirmedBaseBytes: 2 ** 52 });
    });

    it('is none of a tenant that is not there', async () => {
      const input = { tenant: tenantName(), settingsVersion: 0, repo: app, limitBytes: 5 };
      expect(await ledger.setRepoLimit(input)).toEqual({ kind: 'absent' });
      expect(await ledger.readTenant(input.tenant)).toBeUndefined();
    });
  });
}
