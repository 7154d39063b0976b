import type { Table } from '../../lambda/core/table/requests.ts';
import type { SimPorts } from './ports.ts';
import type { TenantWorld } from './tenant-world.ts';

/** What a subject does in the simulator. */
export interface SimSubject {
  /** What its invocations call: part of `code`. */
  readonly code?: object;
  /** Its stores, on the table as one function sees it. */
  readonly stores?: (table: Table) => Partial<SimPorts>;
  readonly collectGarbage?: (world: TenantWorld, wish: GarbageWish) => Promise<void>;
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
