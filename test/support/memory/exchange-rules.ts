import type { ExchangeRule } from '../../../lambda/domain/exchange-rule.ts';
import type { ExchangeRules } from '../../../lambda/ports/identities.ts';

/** Exchange rules in memory, for tests. */
export class MemoryExchangeRules implements ExchangeRules {
  readonly #rules = new Map<string, ExchangeRule>();

  async list(tenant: string) {
    return [...this.#rules.values()]
      .filter((rule) => rule.tenant === tenant)
      .sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1));
  }

  async put(rule: ExchangeRule) {
    const key = `${rule.tenant}#${rule.id}`;
    if (!this.#rules.has(key)) this.#rules.set(key, rule);
  }

  async delete({ tenant, id }: { tenant: string; id: string }) {
    return this.#rules.delete(`${tenant}#${id}`) ? ('deleted' as const) : ('absent' as const);
  }
}
