import { type AuditEntry, auditIdOf } from '../../../lambda/domain/audit.ts';
import type { AuditLog } from '../../../lambda/ports/audit-log.ts';

const keyOf = (entry: AuditEntry) => `${entry.tenant}#${auditIdOf(entry)}`;

/** The audit in memory, for tests. */
export class MemoryAuditLog implements AuditLog {
  readonly #entries = new Map<string, AuditEntry>();

  /** All of them, the oldest first. */
  get entries(): readonly AuditEntry[] {
    return [...this.#entries.values()].sort((a, b) => (auditIdOf(a) < auditIdOf(b) ? -1 : 1));
  }

  async begin(entry: AuditEntry) {
    if (!this.#entries.has(keyOf(entry))) this.#entries.set(keyOf(entry), entry);
  }

  async finish(entry: AuditEntry) {
    if (this.#entries.has(keyOf(entry))) this.#entries.set(keyOf(entry), entry);
  }

  async list(input: Parameters<AuditLog['list']>[0]) {
    const { tenant, fromMs, untilMs, pageSize, before } = input;
    const found = this.entries
      .filter((entry) => entry.tenant === tenant && entry.atMs >= fromMs && entry.atMs < untilMs)
      .filter((entry) => before === undefined || auditIdOf(entry) < before)
      .reverse();
    const entries = found.slice(0, pageSize);
    const last = entries.at(-1);
    return { entries, next: last && found.length > pageSize ? auditIdOf(last) : null };
  }
}
