import { dayOf } from '../../../lambda/domain/calendar.ts';
import { type HistoryDay, lastRefusalsMax } from '../../../lambda/domain/history.ts';
import type { History, NotedCount, NotedRefusals } from '../../../lambda/ports/history.ts';

type Entry = HistoryDay & { readonly epoch: number };

/** The history in memory, for tests. */
export class MemoryHistory implements History {
  /** Tenant → day → what was noted. */
  readonly #tenants = new Map<string, Map<string, Entry>>();

  async note({ tenant, atMs, highestBytes, ...count }: NotedCount) {
    const day = dayOf(atMs);
    const known = this.#of(tenant).get(day);
    if (known && known.epoch > count.epoch) return 'older' as const;
    const maxStoredBytes = Math.max(highestBytes, known?.maxStoredBytes ?? 0);
    this.#of(tenant).set(day, { refusals: 0, ...known, day, ...count, maxStoredBytes });
    return 'noted' as const;
  }

  async addRefusals({ tenant, atMs, count, storedBytes, objectCount, last }: NotedRefusals) {
    const day = dayOf(atMs);
    const none: Entry = { day, storedBytes, objectCount, maxStoredBytes: storedBytes, refusals: 0, epoch: 0 };
    const known = this.#of(tenant).get(day) ?? none;
    const { lastRefusals: before = [] } = known;
    const others = before.filter(({ repo, user }) => repo !== last.repo || user !== last.user);
    const lastRefusals = [...others, last].slice(-lastRefusalsMax);
    this.#of(tenant).set(day, { ...known, refusals: known.refusals + count, lastRefusals });
  }

  async days({ tenant, from, to }: { tenant: string; from: string; to: string }) {
    return [...this.#of(tenant).values()]
      .filter(({ day }) => day >= from && day <= to)
      .sort((a, b) => (a.day < b.day ? -1 : 1))
      .map(({ epoch: _, ...day }) => day);
  }

  async forgetSome({ tenant, daysMax }: { tenant: string; daysMax: number }) {
    const days = this.#of(tenant);
    for (const day of [...days.keys()].slice(0, daysMax)) days.delete(day);
    return { hasMore: days.size > 0 };
  }

  #of(tenant: string): Map<string, Entry> {
    const days = this.#tenants.get(tenant) ?? new Map<string, Entry>();
    this.#tenants.set(tenant, days);
    return days;
  }
}
