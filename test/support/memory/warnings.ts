import type { NumberedWarning, Warning, WarningLevel } from '../../../lambda/domain/warning.ts';
import { pendingWarningsMax, type Warnings } from '../../../lambda/ports/warnings.ts';

interface Entry {
  level: WarningLevel;
  epoch: number;
  fullDay: string;
  seq: number;
  pending: NumberedWarning[];
}

/** Warnings in memory, for tests. */
export class MemoryWarnings implements Warnings {
  readonly #tenants = new Map<string, Entry>();

  async read(tenant: string) {
    const { level, pending } = this.#of(tenant);
    return { level, pending: [...pending] };
  }

  async raiseLevel(input: Parameters<Warnings['raiseLevel']>[0]) {
    const { tenant, epoch, warning } = input;
    const entry = this.#of(tenant);
    if (entry.level !== warning.previousLevel || entry.epoch > epoch) return 'not-raised' as const;
    return this.#raise(entry, warning, { level: warning.level, epoch });
  }

  async raiseFull({ tenant, day, warning }: Parameters<Warnings['raiseFull']>[0]) {
    const entry = this.#of(tenant);
    return entry.fullDay < day ? this.#raise(entry, warning, { fullDay: day }) : ('not-raised' as const);
  }

  async ignoreBefore({ tenant, epoch }: { tenant: string; epoch: number }) {
    const entry = this.#of(tenant);
    entry.epoch = Math.max(entry.epoch, epoch);
  }

  async settle({ tenant, seq }: { tenant: string; seq: number }) {
    const entry = this.#of(tenant);
    entry.pending = entry.pending.filter((each) => each.seq > seq);
  }

  async listPending({ tenantsMax }: { tenantsMax: number }) {
    return [...this.#tenants]
      .filter(([, { pending }]) => pending.length > 0)
      .map(([tenant]) => tenant)
      .sort()
      .slice(0, tenantsMax);
  }

  async forget(tenant: string) {
    this.#tenants.delete(tenant);
  }

  #raise(entry: Entry, warning: Warning, changes: Partial<Entry>): 'raised' | 'not-raised' {
    if (entry.pending.length >= pendingWarningsMax) return 'not-raised';
    Object.assign(entry, changes);
    entry.seq += 1;
    entry.pending.push({ seq: entry.seq, warning });
    return 'raised';
  }

  #of(tenant: string): Entry {
    const entry = this.#tenants.get(tenant) ?? { level: 0, epoch: 0, fullDay: '', seq: 0, pending: [] };
    this.#tenants.set(tenant, entry);
    return entry;
  }
}
