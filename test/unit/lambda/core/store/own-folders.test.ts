import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { deleteRepo, deleteTenant } from '../../../../../lambda/core/ledger/deletes.ts';
import { cancelReservations } from '../../../../../lambda/core/ledger/reservations.ts';
import { ownFolders } from '../../../../../lambda/core/store/rules/own-folders.ts';
import type { SignUploadInput } from '../../../../../lambda/core/store/rules/store.ts';
import { ownScopes } from '../../../../../lambda/routes.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';
import { QueuedWork } from '../../../../support/queued-work.ts';
import type { TestedSubject } from '../../../../support/subject.ts';
import * as subjects from '../../../../support/subjects.ts';

const hour = 60 * minute;
const day = 24 * hour;
const repo = 'app';
const path = { tenant, repo };
/** Those that subjects write to for tenants. What is of all of them ends with time alone: usage-files.test.ts. */
const own = new Set(Object.values(ownScopes).map(({ below }) => below.split('/')[1]));
own.delete(ownFolders.usage);
const writers = Object.values<TestedSubject>(subjects).flatMap((of) => of.writer ?? []);
const old = 'a'.repeat(64);
const folderOf = (key: string) => key.slice(0, key.indexOf('/'));

/** A tenant in memory with everything that writes: requests, queues and the schedule, and URLs that are used late. */
class World extends MemoryStack {
  readonly #queues = new QueuedWork();
  readonly signed: SignUploadInput[] = [];

  constructor() {
    super({ gcWatchMs: hour, chunkedAboveBytes: 100, chunkBytes: 64 });
    const signUpload = async (input: SignUploadInput) => {
      this.signed.push(input);
      return { href: 'https://store.example/', header: {} };
    };
    const signer = { ...this.deps.signer, signUpload };
    Object.assign(this.deps, { ...this.#queues.ports, signer });
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
    await this.#queues.work(this.deps, this.nowMs + minute);
  }

  /** Lets time pass, with runs of the schedule. */
  async rest(durationMs: number, everyMs: number): Promise<void> {
    for (const untilMs = this.nowMs + durationMs; this.nowMs < untilMs; this.nowMs += everyMs) {
      await this.#queues.wake(this.deps);
      await this.work();
    }
  }

  /** Every writer writes. */
  async fill(): Promise<void> {
    const { deps } = this;
    const bytes = Buffer.alloc(8);
    await deps.archives.put(`${tenant}/${repo}/${old}`, bytes);
    await this.create();
    for (const { begin } of writers) await begin(deps, path);
    await this.rest(hour, 20 * minute);
    for (const { write } of writers) await write(deps, path, bytes, old);
    await this.putAll();
  }
}

/** What writes ends by itself. */
async function endRuns({ deps }: World): Promise<void> {
  for (const { end } of writers) await end?.(deps, path);
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

  it.each<[string, (world: World) => Promise<void>, readonly string[]]>([
    [
      'its run',
      endRuns,
      [...writers.flatMap(({ stays }) => stays?.(path) ?? []), `${tenant}/${repo}/${old}`],
    ],
    ['its repo', endRepo, []],
    ['its tenant', endTenant, []],
  ])('is removed with %s, from every folder, also what lands late', async (_, end, left) => {
    const world = new World();
    await world.fill();
    await world.work();
    // Without a writer here, a folder is not looked at.
    expect([...new Set((await world.all()).map(folderOf))].sort()).toEqual([...own, tenant].sort());
    await end(world);
    await world.work();
    world.nowMs += 30 * minute;
    await world.putAll();
    await world.rest(2 * hour, 10 * minute);
    await world.rest(9 * day, 12 * hour);
    expect(await world.all()).toEqual(left);
  });
});
