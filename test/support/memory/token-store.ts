import {
  type SessionKey,
  type SessionRecord,
  sessionsMax,
  type TokenRecord,
  type TokenStore,
} from '../../../lambda/ports/credentials.ts';
import type { ExchangeRules } from '../../../lambda/ports/identities.ts';

/** Tokens in memory, for tests. */
export class MemoryTokenStore implements TokenStore {
  readonly #tokens = new Map<string, TokenRecord>();

  readonly #sessions = new Map<string, SessionRecord>();

  readonly #rules: Pick<ExchangeRules, 'list'> | undefined;

  /** @param rules those by which tokens were given. Without them, no rule is ever deleted. */
  constructor(rules?: Pick<ExchangeRules, 'list'>) {
    this.#rules = rules;
  }

  async putSession(record: SessionRecord) {
    if (!this.#sessions.has(nameOf(record))) this.#sessions.set(nameOf(record), record);
    const siblings = [...this.#sessions.values()].filter(({ parentId }) => parentId === record.parentId);
    siblings.sort((a, b) => b.createdAtMs - a.createdAtMs);
    for (const old of siblings.slice(sessionsMax)) this.#sessions.delete(nameOf(old));
  }

  async findSession(key: SessionKey) {
    return this.#sessions.get(nameOf(key));
  }

  async deleteSession(key: SessionKey) {
    this.#sessions.delete(nameOf(key));
  }

  async find(tokenId: string) {
    const token = this.#tokens.get(tokenId);
    if (token?.ruleId === undefined || !this.#rules) return token;
    const rules = await this.#rules.list(token.tenant);
    return rules.some(({ id }) => id === token.ruleId) ? token : undefined;
  }

  async put(record: TokenRecord) {
    if (this.#tokens.has(record.tokenId)) return 'exists' as const;
    this.#tokens.set(record.tokenId, record);
    return 'created' as const;
  }

  async noteUse({ tokenId, atMs }: { tokenId: string; atMs: number }) {
    const record = this.#tokens.get(tokenId);
    if (record && (record.lastUsedAtMs ?? -1) < atMs)
      this.#tokens.set(tokenId, { ...record, lastUsedAtMs: atMs });
  }

  async delete(token: { tenant: string; tokenId: string }) {
    if (this.#tokens.get(token.tokenId)?.tenant !== token.tenant) return 'absent' as const;
    this.#tokens.delete(token.tokenId);
    return 'deleted' as const;
  }

  async list(tenant: string) {
    return [...this.#tokens.values()]
      .filter((token) => token.tenant === tenant)
      .sort((a, b) => a.createdAtMs - b.createdAtMs || (a.tokenId < b.tokenId ? -1 : 1));
  }

  async listPage({ tenant, pageSize, cursor }: { tenant: string; pageSize: number; cursor?: string }) {
    const cursorOf = (token: TokenRecord) => `${token.createdAtMs}#${token.tokenId}`;
    const left = (await this.list(tenant)).filter((token) => cursorOf(token) > (cursor ?? ''));
    const tokens = left.slice(0, pageSize);
    const last = tokens.at(-1);
    return { tokens, nextCursor: last && left.length > pageSize ? cursorOf(last) : null };
  }
}

const nameOf = ({ parentId, sessionId }: SessionKey) => `${parentId}/${sessionId}`;
