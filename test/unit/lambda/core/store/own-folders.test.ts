import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { deleteRepo, deleteTenant } from '../../../../../lambda/core/ledger/deletes.ts';
import { cancelReservations } from '../../../../../lambda/core/ledger/reservations.ts';
import type { SignUploadInput } from '../../../../../lambda/core/store/rules/store.ts';
import { ownScopes } from '../../../../../lambda/routes.ts';
import type { ChunkMessage } from '../../../../../lambda/subjects/chunks/messages.ts';
import { serveChunks } from '../../../../../lambda/subjects/chunks/serve.ts';
import { tidyUpload } from '../../../../../lambda/subjects/chunks/tidy.ts';
import { wakeUploads } from '../../../../../lambda/subjects/chunks/wake.ts';
import type { ExportMessage } from '../../../../../lambda/subjects/exports/messages.ts';
import { cancelExport, wakeExports } from '../../../../../lambda/subjects/exports/start.ts';
import { runExportStep } from '../../../../../lambda/subjects/exports/steps.ts';
import { recordingChunkQueue, recordingExportQueue } from '../../../../support/memory/deps.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';
import type { TestedSubject } from '../../../../support/subject.ts';
import { startExport } from '../../../../support/subjects/exports/start-export.ts';
import * as subjects from '../../../../support/subjects.ts';

const hour = 60 * minute;
const day = 24 * hour;
const repo = 'app';
const path = { tenant, repo };
/** Those that subjects write to. */
const own = new Set(Object.values(ownScopes).map(({ below }) => below.split('/')[1]));
const writers = Object.values<TestedSubject>(subjects).flatMap((of) => of.writer ?? []);
const [old, large] = ['a'.repeat(64), 'b'.repeat(64)];
const folderOf = (key: string) => key.slice(0, key.indexOf('/'));

/** A tenant in memory with everything that writes: requests, queues and the schedule, and URLs that are used late. */
class World extends MemoryStack {
  readonly #chunks = recordingChunkQueue();
  readonly #exports = recordingExportQueue();
  readonly signed: SignUploadInput[] = [];

  constructor() {
    super({ gcWatchMs: hour, chunkedAboveBytes: 100, chunkBytes: 64 });
    const signUpload = async (input: SignUploadInput) => {
      this.signed.push(input);
      return { href: 'https://store.example/', header: {} };
    };
    const signer = { ...this.deps.signer, signUpload };
    Object.assign(this.deps, { chunkQueue: this.#chunks.queue, exportQueue: this.#exports.queue, signer });
  }

  async all(): Promise<string[]> {
    const pages: string[] = [];
    for await (const keys of this.deps.archives.list('')) pages.push(...keys);
    for await (const page of this.deps.archives.uploads('')) pages.push(...page.map(({ key }) => key));
    return pages;
  }

  /** Sends to every URL what it was signed for, whatever has become of it. */
  async putAll(): Promise<void> {
    for (const { key, sizeBytes } of this.signed)
      await this.deps.archives.put(key, Buffer.alloc(sizeBytes, 1));
  }

  /** What the queues have. */
  async work(): Promise<void> {
    await this.consume();
    const { deps } = this;
    const take = <T>(messages: T[]) => messages.splice(0);
    for (const message of take<ExportMessage>(this.#exports.messages))
      await runExportStep(deps, { message, deadlineMs: this.nowMs + minute });
    for (const message of take<ChunkMessage>(this.#chunks.messages))
      if (message.step === 'tidy') await tidyUpload(deps, message);
  }

  /** Lets time pass, with runs of the schedule. */
  async rest(durationMs: number, everyMs: number): Promise<void> {
    for (const untilMs = this.nowMs + durationMs; this.nowMs < untilMs; this.nowMs += everyMs) {
      await wakeExports(this.deps);
      await wakeUploads(this.deps);
      await this.work();
    }
  }

  /** Every writer writes. */
  async fill(): Promise<{ exportIds: string[] }> {
    const { deps } = this;
    const bytes = Buffer.alloc(8);
    await deps.archives.put(`${tenant}/${repo}/${old}`, bytes);
    await this.create();
    for (const { begin } of writers) await begin(deps, path);
    const named = { tenant, repo, format: 'tar', isDryRun: false } as const;
    const done = await startExport(deps, named);
    await this.rest(hour, 20 * minute);
    for (const { write } of writers) await write(deps, path, bytes);
    const record = await this.record();
    const chunked = new Set([large]);
    const objects = new Map([[large, 200]]);
    await admitUpload(deps, { tenant: record, repo, objects, chunked, madeBy: 'ada' });
    const [upload] = await deps.chunkedUploads.ofObject({ ...path, oid: large });
    if (!upload) throw new Error('No upload was begun.');
    const wanted = [0, 1].map((chunk) => ({ chunk, sha256: 'c'.repeat(64) }));
    await serveChunks(deps, upload, { stored: [], wanted });
    const open = await startExport(deps, { ...named, objects: [{ oid: old }] });
    await this.putAll();
    return { exportIds: [done, open].map((each) => ('job' in each ? each.job.exportId : '')) };
  }
}

/** Gc run, export and upload end by themselves. */
async function endRuns({ deps }: World, { exportIds }: { exportIds: readonly string[] }): Promise<void> {
  for (const { end } of writers) await end(deps, path);
  for (const exportId of exportIds) await cancelExport(deps, { tenant, exportId });
  await cancelReservations(deps, { tenant });
}

async function endRepo({ deps }: World): Promise<void> {
  await deleteRepo(deps, { ...path, dryRun: false });
}

async function endTenant(world: World): Promise<void> {
  await deleteTenant(world.deps, { tenant: await world.record(), dryRun: false });
}

const sourcesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name));

describe('what is written beside objects', () => {
  it('lies below a folder of the list, which is the only place that names them', () => {
    const files = ['lambda', 'lib'].flatMap(sourcesIn);
    const naming = files.filter((file) => /(['"`])_[a-z]+(\1|[/$])/.test(readFileSync(file, 'utf8')));
    expect(naming).toEqual(['lambda/core/store/rules/own-folders.ts']);
  });

  it.each<[string, (world: World, made: { exportIds: string[] }) => Promise<void>, readonly string[]]>([
    ['its run', endRuns, [`${tenant}/${repo}/${old}`]],
    ['its repo', endRepo, []],
    ['its tenant', endTenant, []],
  ])('is removed with %s, from every folder, also what lands late', async (_, end, left) => {
    const world = new World();
    const made = await world.fill();
    await world.work();
    // Without a writer here, a folder is not looked at.
    expect([...new Set((await world.all()).map(folderOf))].sort()).toEqual([...own, tenant].sort());
    await end(world, made);
    await world.work();
    world.nowMs += 30 * minute;
    await world.putAll();
    await world.rest(2 * hour, 10 * minute);
    await world.rest(9 * day, 12 * hour);
    expect(await world.all()).toEqual(left);
  });
});
