import type { RequestKeyRecord, RequestKeys } from '../../../lambda/ports/request-keys.ts';

/** Request keys in memory, for tests. */
export class MemoryRequestKeys implements RequestKeys {
  readonly #records = new Map<string, RequestKeyRecord>();

  async begin(record: RequestKeyRecord) {
    const known = this.#records.get(record.id);
    if (known && known.expiresAtMs > record.beganAtMs) return known;
    this.#records.set(record.id, record);
    return record;
  }

  async isKnown({ id, nowMs }: { id: string; nowMs: number }) {
    return (this.#records.get(id)?.expiresAtMs ?? 0) > nowMs;
  }

  async finish(id: string) {
    const record = this.#records.get(id);
    if (record) this.#records.set(id, { ...record, isDone: true });
  }
}
