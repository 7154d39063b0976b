import type { Coverage } from './coverage.ts';
import type { AskedRemoval } from './invariants.ts';
import type { DownloadAction } from './scenario.ts';
import type { TenantWorld } from './tenant-world.ts';
import type { World } from './world.ts';

/** What a subject does in the simulator. */
export interface SimSubject {
  readonly collectGarbage?: (world: TenantWorld, wish: GarbageWish) => Promise<void>;
  /** Keeps objects from being deleted. */
  readonly hold?: (world: TenantWorld, wish: HoldWish) => Promise<void>;
  /** Checks what a function removes. */
  readonly checkRemoval?: (world: World, removal: AskedRemoval) => void;
  /** How often it is seen at least in a scenario, on average. */
  readonly least?: Partial<Record<keyof Coverage, number>>;
  /** Somebody asks for objects. What is metered is what was offered. */
  readonly download?: (world: TenantWorld, action: DownloadAction) => Promise<void>;
  /** Checks what nothing happens to any more. */
  readonly checkRest?: (world: TenantWorld) => Promise<void>;
}

export interface HoldWish {
  /** null: all of them. */
  readonly repo: string | null;
  readonly cancelAfterMs: number | null;
}

export interface GarbageWish {
  readonly repo: string;
  /** All that the repo may have. */
  readonly oids: readonly string[];
  readonly keep: ReadonlySet<string>;
  readonly isCancelled: boolean;
}
