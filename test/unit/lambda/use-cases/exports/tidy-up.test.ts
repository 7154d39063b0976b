import { expect, it } from 'vitest';
import type { ExportState } from '../../../../../lambda/domain/export/export-job.ts';
import { cancelExport } from '../../../../../lambda/use-cases/exports/cancel-export.ts';
import { tidyUp } from '../../../../../lambda/use-cases/exports/tidy-up.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';
import { exportIdOf, exportWorld, jobOf, putJob } from './export-world.ts';

const folder = `_exports/acme/${exportIdOf(0)}`;
const [work, archive] = [`${folder}/work/1/list`, `${folder}/1/acme.tar`];

/** An export in this state, with work, an archive and an upload in the store. */
async function exportThatIs(state: ExportState) {
  const archives = new MemoryArchiveStore();
  const { deps, messages } = await exportWorld({ archives });
  const job = await putJob(deps, { state });
  for (const key of [work, archive]) await archives.put(key, Buffer.from('bytes'));
  await archives.createUpload(archive);
  const left = async () => {
    const keys: string[] = [];
    for await (const page of archives.list('_exports/')) keys.push(...page);
    return { keys, uploads: archives.openUploads.length };
  };
  const next = () =>
    deps.exportJobs.create(jobOf(deps, { exportId: exportIdOf(1) }), {
      placesMax: 1,
      nowMs: job.expiresAtMs - 1,
    });
  return { deps, archives, messages, job, left, next };
}

it.each<ExportState>(['planning', 'hashing', 'copying'])(
  'an export that is %s keeps its work, its uploads and its place',
  async (state) => {
    const { deps, job, left, next } = await exportThatIs(state);
    expect(await tidyUp(deps, job)).toBe(state);
    expect(await left()).toEqual({ keys: [archive, work], uploads: 1 });
    expect(await deps.exportJobs.read(job)).toEqual(job);
    expect(await next()).toBe('full');
  },
);

it('an export that is done keeps its archive and its place, and nothing else', async () => {
  const { deps, job, left, next } = await exportThatIs('done');
  expect(await tidyUp(deps, job)).toBe('done');
  expect(await left()).toEqual({ keys: [archive], uploads: 0 });
  expect(await deps.exportJobs.read(job)).toMatchObject({ isTidy: true });
  expect(await next()).toBe('full');
});

it.each<ExportState>(['explained', 'failed', 'cancelled', 'expired'])(
  'an export that is %s keeps nothing: its place is free before it expires',
  async (state) => {
    const { deps, job, left, next } = await exportThatIs(state);
    expect(await tidyUp(deps, job)).toBe(state);
    expect(await left()).toEqual({ keys: [], uploads: 0 });
    expect(await next()).toBe('created');
  },
);

it('an export whose archive is deleted while its work is removed is tidied up again', async () => {
  const { deps, archives, messages, job, left } = await exportThatIs('done');
  archives.before = async ({ name }) => {
    if (name === 'delete') await cancelExport(deps, job);
  };
  expect(await tidyUp(deps, job)).toBe('expired');
  expect(await deps.exportJobs.read(job)).toMatchObject({ isTidy: false });
  expect(messages).toMatchObject([{ step: { kind: 'advance' } }]);
  archives.before = () => undefined;
  expect(await tidyUp(deps, job)).toBe('expired');
  expect(await left()).toEqual({ keys: [], uploads: 0 });
});

it('an export without a record has no state, also if its record goes while it is tidied up', async () => {
  const { deps, job, left } = await exportThatIs('failed');
  expect(await tidyUp(deps, { ...job, exportId: exportIdOf(7) })).toBeUndefined();
  expect(await left()).toEqual({ keys: [archive, work], uploads: 1 });
  deps.exportJobs.change = async () => undefined;
  expect(await tidyUp(deps, job)).toBeUndefined();
});
