import type { Table } from '../../lambda/core/table/requests.ts';
import type { Deps } from '../../local/deps.ts';
import type { FakeTable } from './fake-table.ts';

/** What a subject has for tests that know no subject. */
export interface TestedSubject {
  readonly fill?: Fill;
  /** What docs/limits.md says of it. */
  readonly limits?: Limits;
  readonly kept?: readonly KeptRow[];
}

export const [tenant, repo] = ['zebra', 'stripes'];
export const path = { tenant, repo };
export const minute = 60_000;
/** Of an object that nobody has sent. */
export const unsent = 'c'.repeat(64);

/** How each store gets something of the tenant, and of the repo if it keeps something of repos. */
export type Fill = Readonly<Record<string, (deps: Deps, nowMs: number) => Promise<unknown>>>;

/** Title of a section → what → how much. */
export type Limits = Readonly<Record<string, Readonly<Record<string, number | string>>>>;

/** An item, and when the table may remove it. null: never. */
export interface Written {
  readonly pk: unknown;
  readonly sk: unknown;
  readonly end: unknown;
}

export interface KeptRow {
  readonly what: string;
  /** The functions that write it, each with an end. */
  readonly by: readonly string[];
  /** Lets each of them write. @returns what they must have written. */
  readonly write: (of: typeof kept & KeptOn) => Promise<readonly Written[]>;
}

export interface KeptOn {
  readonly table: Table;
  readonly client: FakeTable;
}

export const kept = {
  tenant: 'acme',
  oid: 'f'.repeat(64),
  atMs: Date.parse('2026-11-22T10:00:00.001Z'),
  /** The table's times are whole seconds, never too early. */
  second: Date.parse('2026-11-22T10:00:01Z') / 1000,
  day: 24 * 60 * 60,
};
