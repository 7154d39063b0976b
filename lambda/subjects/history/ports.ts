import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { ArchiveStore } from '../../core/store/rules/archive-store.ts';
import type { Corrections } from './correction-store.ts';
import type { History } from './history-store.ts';

export interface HistoryPorts {
  readonly history: History;
}

export interface ByteHourPorts extends HistoryPorts {
  readonly corrections: Corrections;
}

/** What whoever sends webhooks has for the operator's (absent: nobody sends any), and where files are put. */
export interface UsageHookPorts {
  readonly usageHookIsSet?: () => Promise<boolean>;
  readonly webhookQueue?: { send(messages: readonly object[]): Promise<void> };
  /** Absent: no files are written. */
  readonly usageFiles?: UsageFiles | undefined;
}

export interface UsageFiles extends Pick<CoreDeps, 'listing' | 'store'> {
  readonly archives: Pick<ArchiveStore, 'put'>;
}

/** How much was offered for download. */
export interface OfferedSum {
  readonly bytes: number;
  readonly objects: number;
}

/** What was offered in a month, and on each of its days. */
export interface OfferedMonth extends OfferedSum {
  /** In UTC, such as `2026-11`. */
  readonly month: string;
  /** By day, such as `2026-11-21`. One that is missing had none, if the others sum up to the month. */
  readonly days: ReadonlyMap<string, OfferedSum>;
}

/** What whoever meters downloads adds to the days. */
export interface OfferedPorts {
  /** Months without any are left out. @throws {LedgerUnavailableError} */
  readonly offered: (of: { tenant: string; months: readonly string[] }) => Promise<readonly OfferedMonth[]>;
}
