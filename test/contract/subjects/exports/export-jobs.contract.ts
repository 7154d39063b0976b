import { describe, expect, it } from 'vitest';
import { createDynamoDbExportJobs, type ExportJobs } from '../../../../lambda/subjects/exports/job-store.ts';
import {
  type ExportJob,
  newExportJob,
  openUnits,
  withUnitDone,
} from '../../../../lambda/subjects/exports/rules/job.ts';
import { onceOpen } from '../../../support/once-open.ts';
import { wholeTenant as request } from '../../../support/subjects/exports/export-request.ts';
import { walk } from '../../../support/walk.ts';
import { type OpenTable, tenantName } from '../../ledger-context.ts';

const nowMs = 1_800_000_000_000;
const limitMs = 1000;

/** What every {@link ExportJobs} must do. */
export function exportJobsContract(table: OpenTable): void {
  describe('records of exports', () => {
    const jobs = onceOpen(async () => createDynamoDbExportJobs(await table()));
    const job = (tenant: string, exportId: string, more: Partial<ExportJob> = {}): ExportJob => ({
      ...newExportJob({ tenant, exportId, request, nowMs, limitMs }),
      ...more,
    });
    const create = (tenant: string, exportId: string, { placesMax = 100, atMs = nowMs } = {}) =>
      jobs.create(job(tenant, exportId), { placesMax, nowMs: atMs });
    const dueOf = async (tenant: string, byMs = Number.MAX_SAFE_INTEGER / 2) => {
      const found: string[] = [];
      for await (const page of jobs.listDue({ nowMs: byMs }))
        found.push(...page.filter((path) => path.tenant === tenant).map(({ exportId }) => exportId));
      return found.sort();
    };

    describe('a record', () => {
      it('is read as it was put, with everything that it may have', async () => {
        const tenant = tenantName();
        const figures = {
          archiveBytes: 9_007_199_254_740_991,
          throughBytes: 2,
          copiedBytes: 3,
          volumes: 4,
          shards: 5,
          gets: 6,
          uploads: 7,
          copies: 8,
          hashedBytes: 21,
        };
        const directory = {
          key: `_exports/${tenant}/full/work/1/directory/0`,
          etag: '"e"',
          startByte: 22,
          endByte: 23,
        };
        const priced = { requests: 9, dollars: 0.000_000_123_456_789, seconds: 1 / 3 };
        const full = job(tenant, 'full', {
          request: {
            ...request,
            repo: 'app',
            listedObjects: 3,
            isNamed: true,
            format: 'zip',
          },
          by: { kind: 'token', name: 'ada' },
          state: 'failed',
          endedAtMs: nowMs + 5,
          leaseUntilMs: nowMs + 7,
          failingSinceMs: 2,
          failure: { reason: 'object-too-large', message: 'Too large.' },
          planned: {
            ...priced,
            way: 'copy-grid',
            objectCount: 10,
            objectBytes: 11,
            missing: 12,
            conflicts: 13,
            figures,
            units: 14,
            volumes: [
              {
                key: `_exports/${tenant}/full/1/a.zip`,
                uploadId: 'u/+=',
                sizeBytes: 15,
                parts: 16,
                directory,
              },
              { key: `_exports/${tenant}/full/1/a.tar`, uploadId: 'u', sizeBytes: 15, parts: 16 },
            ],
          },
          doneUnits: 'f'.repeat(250),
          progress: { uploadedBytes: 17, copiedBytes: 18, hashedBytes: 19, requests: 20 },
          isTidy: true,
        });
        for (const each of [full, job(tenant, 'new')]) {
          expect(await jobs.create(each, { placesMax: 2, nowMs })).toBe('created');
          expect(await jobs.read(each)).toEqual(each);
        }
      });

      it('that was never put is undefined', async () => {
        expect(await jobs.read({ tenant: tenantName(), exportId: 'none' })).toBeUndefined();
      });
    });

    describe('a place', () => {
      it('is taken by each job, until all are', async () => {
        const tenant = tenantName();
        const outcomes = [];
        for (const id of ['1', '2', '3']) outcomes.push(await create(tenant, id, { placesMax: 2 }));
        expect(outcomes).toEqual(['created', 'created', 'full']);
        expect(await jobs.read({ tenant, exportId: '3' })).toBeUndefined();
        expect(await create(tenantName(), '3', { placesMax: 2 })).toBe('created');
      });

      it('is never taken by two of many at the same time', async () => {
        const tenant = tenantName();
        const ids = Array.from({ length: 10 }, (_, index) => `id${index}`);
        const outcomes = await Promise.all(ids.map((id) => create(tenant, id, { placesMax: 3 })));
        expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(3);
        const { jobs: listed } = await jobs.list({ tenant, pageSize: 100 });
        expect(listed).toHaveLength(3);
      });

      it('is one, however often its job is created', async () => {
        const tenant = tenantName();
        const again = await Promise.all([1, 2, 3, 4].map(() => create(tenant, 'same', { placesMax: 2 })));
        expect(new Set(again)).toEqual(new Set(['created']));
        await jobs.change({ tenant, exportId: 'same' }, (found) => ({ ...found, state: 'copying' }));
        expect(await create(tenant, 'same', { placesMax: 2 })).toBe('created');
        expect((await jobs.read({ tenant, exportId: 'same' }))?.state).toBe('copying');
        expect(await create(tenant, 'other', { placesMax: 2 })).toBe('created');
        expect(await create(tenant, 'third', { placesMax: 2 })).toBe('full');
        // Its repetition is no job more, even if all places are taken.
        expect(await create(tenant, 'same', { placesMax: 2 })).toBe('created');
      });

      it('is left to others, once', async () => {
        const tenant = tenantName();
        const one = { placesMax: 1 };
        await create(tenant, 'first', one);
        await jobs.leavePlace({ tenant, exportId: 'other' });
        expect(await create(tenant, 'second', one)).toBe('full');
        await jobs.leavePlace({ tenant, exportId: 'first' });
        expect(await jobs.read({ tenant, exportId: 'first' })).toEqual(job(tenant, 'first'));
        expect(await create(tenant, 'second', one)).toBe('created');
        await jobs.leavePlace({ tenant, exportId: 'first' });
        expect(await create(tenant, 'third', one)).toBe('full');
        // A repetition of what has left its place takes none.
        await jobs.leavePlace({ tenant, exportId: 'second' });
        expect(await create(tenant, 'first', one)).toBe('created');
        expect(await create(tenant, 'third', one)).toBe('created');
      });

      it('ends when its job does, also if that moves', async () => {
        const tenant = tenantName();
        const at = (afterMs: number) => ({ placesMax: 1, atMs: nowMs + afterMs });
        await create(tenant, 'first', at(0));
        expect(await create(tenant, 'second', at(limitMs - 1))).toBe('full');
        const move = (exportId: string, expiresAtMs: number) =>
          jobs.change({ tenant, exportId }, (found) => ({ ...found, expiresAtMs }));
        await move('first', nowMs + 5000);
        expect(await create(tenant, 'second', at(4999))).toBe('full');
        await move('first', nowMs + 3000);
        expect(await create(tenant, 'second', at(3000))).toBe('created');
        // The first one has none any more, whatever happens to its record.
        await move('first', nowMs + 9000);
        await move('second', nowMs + 6000);
        expect(await create(tenant, 'third', at(5999))).toBe('full');
        expect(await create(tenant, 'third', at(6000))).toBe('created');
      });
    });

    describe('a change', () => {
      it('is of the record as it is, and counts', async () => {
        const tenant = tenantName();
        const path = { tenant, exportId: 'id' };
        await create(tenant, 'id');
        const changed = await jobs.change(path, (found) => ({
          ...found,
          round: found.round + 1,
          version: 70,
        }));
        expect(changed).toEqual(job(tenant, 'id', { round: 2, version: 2 }));
        expect(await jobs.read(path)).toEqual(changed);
        expect(await jobs.change(path, () => undefined)).toEqual(changed);
        expect(await jobs.read(path)).toEqual(changed);
      });

      it('of nothing is nothing', async () => {
        const path = { tenant: tenantName(), exportId: 'none' };
        const asked = () => {
          throw new Error('There is nothing to change.');
        };
        expect(await jobs.change(path, asked)).toBeUndefined();
        expect(await jobs.read(path)).toBeUndefined();
      });

      it('that throws changes nothing', async () => {
        const tenant = tenantName();
        const path = { tenant, exportId: 'id' };
        await create(tenant, 'id');
        const reason = new Error('No.');
        const asked = () => {
          throw reason;
        };
        await expect(jobs.change(path, asked)).rejects.toBe(reason);
        expect(await jobs.read(path)).toEqual(job(tenant, 'id'));
      });

      it('loses none of many at the same time', async () => {
        const tenant = tenantName();
        const path = { tenant, exportId: 'id' };
        await create(tenant, 'id');
        const units = Array.from({ length: 32 }, (_, unit) => unit);
        const planned = { units: units.length } as ExportJob['planned'];
        const mark = async (unit: number) => {
          const add = (found: ExportJob) => ({
            ...found,
            doneUnits: withUnitDone(found.doneUnits, unit),
            round: found.round + 1,
          });
          return await jobs.change(path, add);
        };
        const answers = await Promise.all(units.map(mark));
        expect(answers.map((answer) => answer?.version).sort((a = 0, b = 0) => a - b)).toEqual(
          units.map((unit) => unit + 2),
        );
        const last = await jobs.read(path);
        expect(last).toMatchObject({ version: 33, round: 33 });
        expect(openUnits({ planned, doneUnits: last?.doneUnits ?? '' })).toEqual([]);
      });
    });

    describe('a list', () => {
      it('has the records of a tenant, the newest first, in pages', async () => {
        const tenant = tenantName();
        const ids = ['a1', 'a2', 'a3', 'a4', 'a5'];
        for (const id of ['a3', 'a1', 'a5', 'a2', 'a4']) await create(tenant, id);
        await create(`${tenant}x`, 'a6');
        const pagesOf = (pageSize: number) =>
          walk(async (cursor: string | undefined) => {
            const page = await jobs.list({ tenant, pageSize, ...(cursor !== undefined && { cursor }) });
            return [page.jobs.map(({ exportId }) => exportId), page.nextCursor];
          });
        expect(await pagesOf(2)).toEqual([['a5', 'a4'], ['a3', 'a2'], ['a1']]);
        expect(await pagesOf(5)).toEqual([[...ids].reverse()]);
        expect(await pagesOf(1)).toEqual([['a5'], ['a4'], ['a3'], ['a2'], ['a1']]);
        expect(await jobs.list({ tenant, pageSize: 9, cursor: 'a3' })).toEqual({
          jobs: [job(tenant, 'a2'), job(tenant, 'a1')],
          nextCursor: null,
        });
        // Between two ids.
        expect((await jobs.list({ tenant, pageSize: 1, cursor: 'a3x' })).nextCursor).toBe('a3');
      });

      it('of a tenant without any is empty', async () => {
        expect(await jobs.list({ tenant: tenantName(), pageSize: 5 })).toEqual({
          jobs: [],
          nextCursor: null,
        });
      });

      it('of what is unfinished has all that is open or not tidy', async () => {
        const tenant = tenantName();
        for (const id of ['open', 'ended', 'tidy', 'again']) await create(tenant, id);
        const change = (exportId: string, more: Partial<ExportJob>) =>
          jobs.change({ tenant, exportId }, (found) => ({ ...found, ...more }));
        await change('ended', { state: 'done' });
        await change('tidy', { state: 'failed', isTidy: true });
        await change('again', { state: 'cancelled', isTidy: true });
        await change('again', { isTidy: false });
        await expect.poll(() => dueOf(tenant)).toEqual(['again', 'ended', 'open']);
      });
    });
  });
}
