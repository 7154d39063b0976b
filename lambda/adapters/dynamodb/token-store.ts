import * as z from 'zod';
import type { SessionKey, SessionRecord } from '../../domain/session.ts';
import { shownAfterExpiryMs, type TokenRecord } from '../../domain/token.ts';
import { absent, all, exists, setting } from '../../table/expressions.ts';
import {
  batchGet,
  deleteItem,
  firstItems,
  getItem,
  methodsOn,
  pagesOf,
  putItem,
  type Table,
  updateItem,
} from '../../table/requests.ts';
import { byKindIndex, expiryAttribute, keyNames } from '../../table/table.ts';
import { ruleKey } from './exchange-rules.ts';
import { kindKey } from './items.ts';

/** Absent in the item: null. */
const nullable = <T>(type: z.ZodType<T>) => type.nullish().transform((value) => value ?? null);

const tokenItem = z.object({
  tokenId: z.string(),
  secretSha256: z.string(),
  tenant: z.string(),
  scope: z.enum(['read', 'write', 'manage']),
  label: nullable(z.string()),
  user: nullable(z.string()),
  repos: nullable(z.array(z.string())),
  ruleId: z.string().optional(),
  createdAtMs: z.number(),
  expiresAtMs: nullable(z.number()),
  lastUsedAtMs: nullable(z.number()),
});

const sessionItem = z.object({
  sessionId: z.string(),
  parentId: z.string(),
  secretSha256: z.string(),
  boundTo: z.string(),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
});

/** Below the token that it stands for. */
const sessionKey = ({ parentId, sessionId }: SessionKey) => ({
  pk: `TOKEN#${parentId}`,
  sk: `SESSION#${sessionId}`,
});

const tokenKey = (tokenId: string) => ({ pk: `TOKEN#${tokenId}`, sk: 'TOKEN' });

/** Sessions of one token, or of the operator. */
export const sessionsMax = 100;

interface TokenPage {
  readonly tokens: readonly TokenRecord[];
  /** null: this is the last page. */
  readonly nextCursor: string | null;
}

/**
 * Stored access tokens: never the secret, only its SHA-256. On the ledger's table: one item for each token, found by its
 * public id.
 */
export function createDynamoDbTokenStore(table: Table) {
  return methodsOn(table, {
    find,
    put,
    noteUse,
    delete: revoke,
    list,
    listPage,
    putSession,
    findSession,
    deleteSession,
  });
}

export type TokenStore = ReturnType<typeof createDynamoDbTokenStore>;

/** Strongly consistent, so that a revoked token, or one whose rule was deleted, is rejected immediately. */
async function find(table: Table, tokenId: string): Promise<TokenRecord | undefined> {
  const item = await getItem(table, tokenKey(tokenId));
  const token = item && tokenItem.parse(item);
  if (token?.ruleId === undefined) return token;
  return (await getItem(table, ruleKey({ tenant: token.tenant, id: token.ruleId }))) && token;
}

async function put(table: Table, record: TokenRecord): Promise<'created' | 'exists'> {
  const { ok } = await putItem(table, {
    item: {
      ...tokenKey(record.tokenId),
      ...kindKey(`TOKENS#${record.tenant}`, `${record.createdAtMs}#${record.tokenId}`),
      ...withoutNulls(record),
      ...(record.expiresAtMs !== null && {
        [expiryAttribute]: Math.ceil((record.expiresAtMs + shownAfterExpiryMs) / 1000),
      }),
    },
    condition: absent,
  });
  return ok ? 'created' : 'exists';
}

/** Does nothing if it is there. The newest {@link sessionsMax} of its parent stay. */
async function putSession(table: Table, record: SessionRecord): Promise<void> {
  const expires = { [expiryAttribute]: Math.ceil(record.expiresAtMs / 1000) };
  await putItem(table, { item: { ...sessionKey(record), ...record, ...expires }, condition: absent });
  // Nobody is kept out: the oldest end.
  const all = await firstItems(table, {
    KeyConditionExpression: '#pk = :pk AND begins_with(#sk, :prefix)',
    ExpressionAttributeNames: { '#pk': keyNames.pk, '#sk': keyNames.sk },
    ExpressionAttributeValues: { ':pk': sessionKey(record).pk, ':prefix': 'SESSION#' },
    ConsistentRead: true,
    Limit: 2 * sessionsMax,
  });
  const newestFirst = all
    .map((item) => sessionItem.parse(item))
    .sort((a, b) => b.createdAtMs - a.createdAtMs);
  for (const old of newestFirst.slice(sessionsMax)) await deleteItem(table, { key: sessionKey(old) });
}

/** Strongly consistent, so that a session that was ended is rejected immediately. */
async function findSession(table: Table, key: SessionKey): Promise<SessionRecord | undefined> {
  const item = await getItem(table, sessionKey(key));
  return item && sessionItem.parse(item);
}

/** Does nothing if it is gone. */
async function deleteSession(table: Table, key: SessionKey): Promise<void> {
  await deleteItem(table, { key: sessionKey(key) });
}

/** What is null is not in the item. */
const withoutNulls = (record: TokenRecord) =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));

/** Writes when the token was used, unless a later use is known or the token is gone. */
async function noteUse(table: Table, { tokenId, atMs }: { tokenId: string; atMs: number }): Promise<void> {
  await updateItem(table, {
    key: tokenKey(tokenId),
    change: [setting({ lastUsedAtMs: atMs })],
    condition: all(exists, '(attribute_not_exists(#lastUsedAtMs) OR #lastUsedAtMs < :lastUsedAtMs)'),
  });
}

/** Deletes the token if it is this tenant's. */
async function revoke(
  table: Table,
  token: { tenant: string; tokenId: string },
): Promise<'deleted' | 'absent'> {
  const result = await deleteItem(table, {
    key: tokenKey(token.tokenId),
    condition: '#tenant = :tenant',
    values: { ':tenant': token.tenant },
  });
  return result.ok ? 'deleted' : 'absent';
}

/** All tokens of a tenant, oldest first. */
async function list(table: Table, tenant: string): Promise<readonly TokenRecord[]> {
  const keys: Record<string, string>[] = [];
  for await (const items of pagesOf(table, tokensOf(tenant)))
    keys.push(...items.map((item) => ({ pk: String(item['pk']), sk: String(item['sk']) })));
  return readTokens(table, keys);
}

/** The same, one page at a time. @param input.cursor `nextCursor` of the previous page. */
async function listPage(
  table: Table,
  input: { tenant: string; pageSize: number; cursor?: string },
): Promise<TokenPage> {
  const query = tokensOf(input.tenant);
  // One more than the page, to know whether another follows.
  const items = await firstItems(table, {
    ...query,
    KeyConditionExpression: `${query.KeyConditionExpression} AND #name > :after`,
    ExpressionAttributeNames: { ...query.ExpressionAttributeNames, '#name': byKindIndex.sk },
    // A space sorts before every digit.
    ExpressionAttributeValues: { ...query.ExpressionAttributeValues, ':after': input.cursor ?? ' ' },
    Limit: input.pageSize + 1,
  });
  const page = items.slice(0, input.pageSize);
  const last = items.length > input.pageSize ? page.at(-1) : undefined;
  const keys = page.map((item) => ({ pk: String(item['pk']), sk: String(item['sk']) }));
  return {
    tokens: await readTokens(table, keys),
    nextCursor: last ? String(last[byKindIndex.sk]) : null,
  };
}

const tokensOf = (tenant: string) => ({
  IndexName: byKindIndex.name,
  KeyConditionExpression: '#kind = :kind',
  ExpressionAttributeNames: { '#kind': byKindIndex.pk },
  ExpressionAttributeValues: { ':kind': `TOKENS#${tenant}` },
});

/** The index may still name a token that was revoked: what counts is its item. */
async function readTokens(
  table: Table,
  keys: readonly Record<string, string>[],
): Promise<readonly TokenRecord[]> {
  const records = (await batchGet(table, keys)).map((item) => tokenItem.parse(item));
  return records.sort((a, b) => a.createdAtMs - b.createdAtMs || (a.tokenId < b.tokenId ? -1 : 1));
}
