import type { DownloadAction } from './scenario.ts';
import type { TenantWorld } from './tenant-world.ts';

/** What a subject does in the simulator. */
export interface SimSubject {
  readonly collectGarbage?: (world: TenantWorld, wish: GarbageWish) => Promise<void>;
  /** Somebody asks for objects. What is metered is what was offered. */
  readonly download?: (world: TenantWorld, action: DownloadAction) => Promise<void>;
  /** Checks what nothing happens to any more. */
  readonly checkRest?: (world: TenantWorld) => Promise<void>;
}

export interface GarbageWish {
  readonly repo: string;
  /** All that the repo may have. */
  readonly oids: readonly string[];
  readonly keep: ReadonlySet<string>;
  readonly isCancelled: boolean;
}
