import type { UploadWay } from '../../lambda/core/ledger/rules/upload-way.ts';
import type { Code } from './code.ts';
import type { Coverage } from './coverage.ts';
import type { AskedRemoval } from './invariants.ts';
import type { SimDeps } from './ports.ts';
import type { DownloadAction, UploadPlan } from './scenario.ts';
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
  /** Before anything happens. */
  readonly begin?: (world: World) => void;
  /** How files are asked for that go in parts, and sent. undefined: none does. */
  readonly askInParts?: (
    world: TenantWorld,
    request: { repo: string; objects: ReadonlyMap<string, number> },
  ) => AskedInParts | undefined;
  /** Cancels the uploads of a name, where files go in parts. */
  readonly cancel?: (world: TenantWorld, repo: string, name: string) => Promise<void>;
  /** What the schedule does, where files go in parts. */
  readonly beat?: (deps: SimDeps, code: Code) => Promise<unknown>;
  /** Waits for what lasts for days, where files go in parts. @param again has tenants reconciled, where no schedule does. */
  readonly settle?: (world: World, again: () => Promise<void>) => Promise<void>;
}

/** A batch of which some objects go in parts. */
export interface AskedInParts {
  readonly asked: {
    readonly chunked: ReadonlySet<string>;
    /** @returns what the batch depends on. */
    readonly with: (deps: SimDeps, code: Code) => SimDeps & { readonly way: UploadWay };
    /** What the function does before it answers. */
    readonly sign: (deps: SimDeps, code: Code) => Promise<void>;
    readonly onChunks: (name: string, upload: string) => void;
  };
  /** @returns whether the client asks for it again. */
  readonly send: (name: string, upload: string, plan: UploadPlan) => Promise<boolean>;
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
