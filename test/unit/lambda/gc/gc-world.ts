import { expect } from 'vitest';
import { openCleanup, startRun } from '../../../../lambda/gc/gc.ts';
import { type Cleanup, type CleanupRun, keepSetKey } from '../../../../lambda/gc/rules/gc.ts';
import { prefixesOf } from '../../../../lambda/gc/rules/prefix-set.ts';
import { sha256Hex } from '../../../../lambda/rules/hash.ts';
import type { Settings } from '../../../../lambda/rules/settings.ts';
import { MemoryLedger } from '../../../support/memory/ledger.ts';
import { MemoryStack, minute, tenant } from '../../../support/memory/stack.ts';

export const repo = 'app';
export const path = { tenant, repo };
export const hour = 60 * minute;
const oids = Array.from({ length: 12 }, (_, index) => sha256Hex(`object ${index}`));
export const oidAt = (index: number) => oids[index] ?? '';

/** A tenant with a repo of some objects, each of index + 1 bytes, that were stored two days ago. */
export class CleanupWorld extends MemoryStack {
  constructor(settings: Partial<Settings> = {}, ledger = new MemoryLedger()) {
    super({ cleanupWatchMs: 24 * hour, ...settings }, ledger);
  }

  static async with(indexes: readonly number[], settings: Partial<Settings> = {}): Promise<CleanupWorld> {
    const world = new CleanupWorld(settings);
    for (const index of indexes) world.putOld(index);
    await world.create();
    return world;
  }

  putOld(index: number, ageMs = 48 * hour): void {
    this.objects.put(`${tenant}/${repo}/${oidAt(index)}`, index + 1, undefined, this.nowMs - ageMs);
  }

  async open(): Promise<Cleanup> {
    const opened = await openCleanup(this.deps, path);
    if (opened.kind !== 'open') throw new Error(opened.kind);
    return opened.cleanup;
  }

  /** Opens a clean-up, and lets a day pass. */
  async opened(): Promise<Cleanup> {
    const cleanup = await this.open();
    this.nowMs += 24 * hour;
    return cleanup;
  }

  /** Sends a keep-set, and asks for a run that deletes, unless `more` says otherwise. */
  run(keep: readonly number[], more: Partial<CleanupRun> = {}) {
    return this.runKeeping(keep.map(oidAt), more);
  }

  async runKeeping(keep: readonly string[], more: Partial<CleanupRun> = {}) {
    const bytes = prefixesOf(keep);
    const keepSha256 = sha256Hex(bytes);
    const cleanup = await this.cleanup();
    await this.deps.archives.put(keepSetKey({ tenant, watchId: cleanup.watch.id }, keepSha256), bytes);
    const wish = {
      keepCount: keep.length,
      keepSha256,
      isDryRun: false,
      isForced: true,
      minAgeMs: 0,
      ...more,
    };
    return startRun(this.deps, { ...path, ...wish });
  }

  async cleanup(): Promise<Cleanup> {
    const cleanup = await this.ledger.readCleanup(path);
    if (!cleanup) throw new Error('There is no clean-up.');
    return cleanup;
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
