import type {
  SessionKey,
  SessionRecord,
  TokenRecord,
  TokenStore,
} from '../../../lambda/ports/credentials.ts';

/** Tokens in memory, for tests. */
export class MemoryTokenStore implements TokenStore {
  readonly #tokens = new Map<string, TokenRecord>();

  readonly #sessions = new Map<string, SessionRecord>();

  async putSession(record: SessionRecord) {
    if (!this.#sessions.has(nameOf(record))) this.#sessions.set(nameOf(record), record);
  }

  async findSession(key: SessionKey) {
    return this.#sessions.get(nameOf(key));
  }

  async deleteSession(key: SessionKey) {
    this.#sessions.delete(nameOf(key));
  }

  async find(tokenId: string) {
    return this.#tokens.get(tokenId);
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
