import { expect } from 'vitest';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import { prefixesOf } from '../../../../../lambda/core/rules/prefix-set.ts';
import type { Settings } from '../../../../../lambda/core/rules/settings.ts';
import { openGc, startRun } from '../../../../../lambda/subjects/gc/gc.ts';
import { type Gc, type GcRun, reachableSetKey } from '../../../../../lambda/subjects/gc/rules/gc.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';

export const repo = 'app';
export const path = { tenant, repo };
export const hour = 60 * minute;
const oids = Array.from({ length: 12 }, (_, index) => sha256Hex(`object ${index}`));
export const oidAt = (index: number) => oids[index] ?? '';

/** A tenant with a repo of some objects, each of index + 1 bytes, that were stored two days ago. */
export class GcWorld extends MemoryStack {
  constructor(settings: Partial<Settings> = {}, ledger = new MemoryLedger()) {
    super({ gcWatchMs: 24 * hour, ...settings }, ledger);
  }

  static async with(indexes: readonly number[], settings: Partial<Settings> = {}): Promise<GcWorld> {
    const world = new GcWorld(settings);
    for (const index of indexes) world.putOld(index);
    await world.create();
    return world;
  }

  putOld(index: number, ageMs = 48 * hour): void {
    this.objects.put(`${tenant}/${repo}/${oidAt(index)}`, index + 1, undefined, this.nowMs - ageMs);
  }

  get gcRuns() {
    return this.deps.gcRuns;
  }

  async open(): Promise<Gc> {
    const opened = await openGc(this.deps, path);
    if (opened.kind !== 'open') throw new Error(opened.kind);
    return opened.gc;
  }

  /** Opens a gc run, and lets a day pass. */
  async opened(): Promise<Gc> {
    const gc = await this.open();
    this.nowMs += 24 * hour;
    return gc;
  }

  /** Sends a reachable set, and asks for a run that deletes, unless `more` says otherwise. */
  run(keep: readonly number[], more: Partial<GcRun> = {}) {
    return this.runKeeping(keep.map(oidAt), more);
  }

  async runKeeping(keep: readonly string[], more: Partial<GcRun> = {}) {
    const bytes = prefixesOf(keep);
    const reachableSha256 = sha256Hex(bytes);
    await this.deps.archives.put(reachableSetKey(path), bytes);
    const wish = {
      reachableCount: keep.length,
      reachableSha256,
      isDryRun: false,
      isForced: true,
      minAgeMs: 0,
      ...more,
    };
    return startRun(this.deps, { ...path, ...wish });
  }

  async gc(): Promise<Gc> {
    const gc = await this.gcRuns.read(path);
    if (!gc) throw new Error('There is no gc run.');
    return gc;
  }

  /** The indexes of the objects that are stored. */
  async stored(): Promise<number[]> {
    const keys = await this.keys();
    return keys.map((key) => oids.indexOf(key.slice(repo.length + 1))).sort((a, b) => a - b);
  }

  /** What lies beside what tenants store. */
  async files(): Promise<string[]> {
    const files: string[] = [];
    for await (const page of this.deps.archives.list('_gc/')) files.push(...page);
    return files;
  }

  async watch() {
    return (await this.ledger.readRepo(path))?.watch;
  }

  /** The numbers are exact. */
  async expectExact(): Promise<void> {
    const all = await this.stored();
    const bytes = all.reduce((sum, index) => sum + index + 1, 0);
    await this.consume();
    expect(await this.usage()).toEqual({ committedBytes: bytes, storedBytes: bytes });
  }
}
