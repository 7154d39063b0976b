import { describe, expect, it } from 'vitest';
import type { UploadedPart } from '../../../../../lambda/core/store/rules/archive-store.ts';
import { finishArchives } from '../../../../../lambda/subjects/exports/advance.ts';
import { ExportLease } from '../../../../../lambda/subjects/exports/lease.ts';
import type { ExportVolume } from '../../../../../lambda/subjects/exports/rules/job.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { exportWorld, plannedOf, putJob } from './export-world.ts';

const key = '_exports/acme/first/1/acme.tar';

/** A job whose archive has so many parts of a byte, of which the first are there. */
async function world(given: { parts?: number; made?: number; pageSize?: number } = {}) {
  const { parts = 3, pageSize = 1000 } = given;
  const { made = parts } = given;
  const archives = new MemoryArchiveStore({ pageSize, limits: { partBytesMin: 1 } });
  const { log, entries } = recordingLog();
  const { deps, clock } = await exportWorld({ archives, log });
  const upload = await archives.createUpload(key);
  for (let number = 1; number <= made; number += 1)
    await archives.uploadPart(upload, { number, bytes: Uint8Array.of(number % 251) });
  const volume: ExportVolume = { ...upload, sizeBytes: parts, parts };
  const planned = plannedOf({ units: 1, volumes: [volume] });
  const path = await putJob(deps, { state: 'copying', planned, doneUnits: '1', failingSinceMs: 5 });
  // An archive is kept from when it's done, however long it took.
  clock.advance(20 * 3_600_000);
  const finish = async () => {
    const { job, lease } = await ExportLease.take(deps, path);
    if (!job || !lease) throw new Error('The export is open.');
    return finishArchives(deps, { job, lease });
  };
  return { archives, clock, deps, entries, path, upload, volume, finish };
}

describe('an export whose units are done', () => {
  it('is done with its archive, and kept', async () => {
    const { archives, deps, finish } = await world();
    const nowMs = deps.clock.nowMs();
    const expiresAtMs = nowMs + deps.exportSettings.keepMs;
    expect(await finish()).toMatchObject({
      state: 'done',
      endedAtMs: nowMs,
      movedAtMs: nowMs,
      expiresAtMs,
      failingSinceMs: null,
      leaseUntilMs: 0,
    });
    expect(await archives.get(key)).toEqual(Uint8Array.of(1, 2, 3));
  });

  it.each([999, 1000, 1001, 2500])('has all of %i parts, whatever the pages are', async (parts) => {
    for (const pageSize of [1000, 300]) {
      const { archives, finish } = await world({ parts, pageSize });
      expect(await finish()).toMatchObject({ state: 'done' });
      expect((await archives.get(key))?.length).toBe(parts);
    }
  });

  it('begins its units again if a part is missing', async () => {
    for (const parts of [3, 1001]) {
      const { deps, entries, path, finish } = await world({ parts, made: parts - 1 });
      const again = { state: 'copying', doneUnits: '', round: 1, leaseUntilMs: 0 };
      expect(await finish()).toMatchObject({ ...again, movedAtMs: deps.clock.nowMs() });
      const { tenant, exportId } = path;
      const fields = { tenant, exportId, round: 1, reason: 'parts missing' };
      expect(entries).toEqual([{ level: 'warn', message: 'export not complete', fields }]);
    }
  });

  it('begins its units again if a part is too many, or has another size', async () => {
    const more = await world();
    await more.archives.uploadPart(more.upload, { number: 4, bytes: Uint8Array.of(4) });
    expect(await more.finish()).toMatchObject({ state: 'copying', doneUnits: '' });
    // Also one after the last thousand.
    const beyond = await world({ parts: 1000 });
    await beyond.archives.uploadPart(beyond.upload, { number: 1001, bytes: Uint8Array.of(4) });
    expect(await beyond.finish()).toMatchObject({ state: 'copying', doneUnits: '' });
    const larger = await world();
    await larger.archives.uploadPart(larger.upload, { number: 2, bytes: Uint8Array.of(2, 2) });
    expect(await larger.finish()).toMatchObject({ state: 'copying', doneUnits: '' });
    // Together the right size, with one part too few.
    const fewer = await world({ made: 2 });
    await fewer.archives.uploadPart(fewer.upload, { number: 2, bytes: Uint8Array.of(2, 2) });
    expect(await fewer.finish()).toMatchObject({ state: 'copying', doneUnits: '' });
    const other = await world({ made: 2 });
    await other.archives.uploadPart(other.upload, { number: 5, bytes: Uint8Array.of(5) });
    expect(await other.finish()).toMatchObject({ state: 'copying', doneUnits: '' });
  });

  it('is planned anew if its upload is gone', async () => {
    const { archives, clock, upload, finish } = await world();
    await archives.abort(upload);
    clock.advance(5);
    expect(await finish()).toMatchObject({ state: 'planning', round: 2, movedAtMs: clock.nowMs() });
  });

  it('logs that its upload is gone, and after the last round tells its owner', async () => {
    const { archives, deps, entries, path, upload, finish } = await world();
    await archives.abort(upload);
    await deps.exportJobs.change(path, (job) => ({ ...job, round: 3 }));
    const message = expect.stringContaining('Last reason: upload gone.');
    expect(await finish()).toMatchObject({ state: 'failed', failure: { message } });
    const fields = expect.objectContaining({ round: 3, reason: 'upload gone' });
    expect(entries).toEqual([{ level: 'warn', message: 'export not complete', fields }]);
  });

  it('is completed with its parts in ascending order, in whatever order they were made', async () => {
    const { archives, volume, finish } = await world({ made: 1 });
    // Workers end at different times, and some stores list parts by that.
    for (const number of [3, 2]) await archives.uploadPart(volume, { number, bytes: Uint8Array.of(number) });
    const { parts } = archives;
    archives.parts = async function* (...asked) {
      for await (const page of parts.apply(archives, asked)) yield [...page].reverse();
    };
    const { complete } = archives;
    const completed: number[] = [];
    archives.complete = (to, those, options) => {
      completed.push(...those.map(({ number }) => number));
      return complete.call(archives, to, those, options);
    };
    expect(await finish()).toMatchObject({ state: 'done' });
    expect(completed).toEqual([1, 2, 3]);
  });

  it('is tried again if the store does not answer, and nothing is planned anew', async () => {
    const { archives, deps, upload, finish } = await world();
    archives.complete = () => Promise.reject(new Error('The store does not answer.'));
    await expect(finish()).rejects.toThrow('The store does not answer.');
    const { jobs } = await deps.exportJobs.list({ tenant: 'acme', pageSize: 10 });
    expect(jobs).toMatchObject([{ state: 'copying', round: 1, doneUnits: '1' }]);
    expect(archives.openUploads).toMatchObject([upload]);
  });

  it('has its parts asked for by the thousand, all thousands at once', async () => {
    const { archives, finish } = await world({ parts: 2500 });
    const { parts } = archives;
    const asked: (number | undefined)[] = [];
    archives.parts = (to, options) => {
      asked.push(options?.after);
      return parts.call(archives, to, options);
    };
    await finish();
    expect(asked).toEqual([0, 1000, 2000]);
    // No page is asked for that another thousand has.
    expect(archives.count('parts')).toBe(3);
  });

  it('is done if an earlier attempt has completed it', async () => {
    const { archives, upload, finish } = await world();
    const parts: UploadedPart[] = [];
    for await (const page of archives.parts(upload)) parts.push(...page);
    await archives.complete(upload, parts);
    expect(await finish()).toMatchObject({ state: 'done' });
  });

  it('is done if it was completed, and the store still answers for its upload', async () => {
    const { archives, upload, finish } = await world();
    const parts: UploadedPart[] = [];
    for await (const page of archives.parts(upload)) parts.push(...page);
    await archives.complete(upload, parts);
    archives.parts = async function* () {
      yield [];
    };
    expect(await finish()).toMatchObject({ state: 'done' });
  });

  it('is not done with an archive of another size', async () => {
    const { archives, finish } = await world();
    const { head } = archives;
    archives.head = async (each) => {
      const found = await head.call(archives, each);
      return found && { ...found, sizeBytes: found.sizeBytes - 1 };
    };
    await expect(finish()).rejects.toThrow('An archive has 2 bytes instead of 3.');
  });

  it('is not done without an archive, though the store has taken it for complete', async () => {
    const { archives, finish } = await world();
    archives.complete = async () => ({ etag: 'e' });
    await expect(finish()).rejects.toThrow('An archive has no bytes instead of 3.');
  });
});
