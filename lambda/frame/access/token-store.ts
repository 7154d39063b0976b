import { absent, all, exists, type Fields } from '../../core/table/expressions.ts';
import { oldestFirst, pageOf, recordsOf } from '../../core/table/records.ts';
import {
  firstItems,
  getItem,
  inPartition,
  methodsOn,
  ofKind,
  pagesOf,
  putItem,
  type Table,
} from '../../core/table/requests.ts';
import { byKindIndex, expiring, kindKey } from '../../core/table/table.ts';
import {
  type SessionRecord,
  sessionSchema,
  shownAfterExpiryMs,
  type TokenRecord,
  tokenSchema,
  userKeptMs,
} from './rules/tokens.ts';

const sessionFields = (record: SessionRecord) => ({ ...record, ...expiring(record.expiresAtMs) });
const sessions = recordsOf<Pick<SessionRecord, 'parentId' | 'sessionId'>, SessionRecord>({
  // Below the token that it stands for.
  keyOf: ({ parentId, sessionId }) => ({ pk: `TOKEN#${parentId}`, sk: `SESSION#${sessionId}` }),
  schema: sessionSchema,
  fields: sessionFields,
});

const tokens = recordsOf<string, TokenRecord>({
  keyOf: (tokenId) => ({ pk: `TOKEN#${tokenId}`, sk: 'TOKEN' }),
  schema: tokenSchema,
});

/** Sessions of one token, or of the operator. */
export const sessionsMax = 100;

interface TokenPage {
  readonly tokens: readonly TokenRecord[];
  /** null: this is the last page. */
  readonly nextCursor: string | null;
}

/**
 * A subject's word for the tokens that are worth something only as long as it says so: whether what this one was given by still
 * is as it was then. Of another subject's token it says no, and reads nothing. What nobody vouches for is worth nothing.
 */
export type Voucher = (table: Table, token: TokenRecord) => Promise<boolean>;

/**
 * Stored access tokens: never the secret, only its SHA-256. On the ledger's table: one item for each token, found by its
 * public id.
 */
export function createDynamoDbTokenStore(table: Table, vouchers: readonly Voucher[]) {
  return methodsOn(table, {
    find: (on: Table, tokenId: string) => find(on, vouchers, tokenId),
    put,
    putUser,
    noteUse,
    delete: revoke,
    list,
    listUsers,
    listPage,
    putSession,
    noteOrganizations,
    /** Strongly consistent, so that a session that was ended is rejected immediately. */
    findSession: sessions.read,
    deleteSession: sessions.remove,
  });
}

export type TokenStore = ReturnType<typeof createDynamoDbTokenStore>;

/**
 * Strongly consistent, so that a revoked token, or one whose rule, organization or parent isn't there any more, is rejected
 * immediately.
 */
async function find(
  table: Table,
  vouchers: readonly Voucher[],
  tokenId: string,
): Promise<TokenRecord | undefined> {
  const token = await tokens.read(table, tokenId);
  if (token?.hostUser === undefined && token?.parentId !== undefined)
    return (await getItem(table, tokens.keyOf(token.parentId))) && token;
  if (token?.hostUser === undefined && token?.ruleId === undefined) return token;
  const isVouchedFor = await Promise.all(vouchers.map((vouches) => vouches(table, token)));
  return isVouchedFor.includes(true) ? token : undefined;
}

async function put(table: Table, record: TokenRecord): Promise<'created' | 'exists'> {
  const item = tokenFields(record, `TOKENS#${record.tenant}`);
  return (await putItem(table, { item, condition: absent })).ok ? 'created' : 'exists';
}

/** Puts who signed in, over who they were the last time. */
async function putUser(table: Table, record: TokenRecord): Promise<void> {
  const item = tokenFields(record, `USERS#${record.tenant}`);
  const { ok } = await putItem(table, { item, condition: `${absent} OR attribute_exists(#hostUser)` });
  if (!ok) throw new Error('A token has the id of a user.');
}

/** @param kind what the index has it below. */
const tokenFields = (record: TokenRecord, kind: string) => ({
  ...tokens.keyOf(record.tokenId),
  ...kindKey(kind, `${record.createdAtMs}#${record.tokenId}`),
  ...withoutNulls(record),
  ...(record.expiresAtMs !== null &&
    expiring(record.expiresAtMs + (record.hostUser ? userKeptMs : shownAfterExpiryMs))),
});

/** Does nothing if it is there. The newest {@link sessionsMax} of its parent stay. */
async function putSession(table: Table, record: SessionRecord): Promise<void> {
  await sessions.put(table, record);
  // Nobody is kept out: the oldest end.
  const ofParent = inPartition(sessions.keyOf(record).pk, { prefix: 'SESSION#' });
  const all = [...(await sessions.list(table, ofParent))].sort((a, b) => b.createdAtMs - a.createdAtMs);
  for (const old of all.slice(sessionsMax)) await sessions.remove(table, old);
}

/** Notes the organizations of its holder. Does nothing if it is gone. */
async function noteOrganizations(
  table: Table,
  { organizations, organizationsAtMs, ...key }: SessionRecord,
): Promise<void> {
  await sessions.set(table, key, { organizations, organizationsAtMs }, { condition: exists });
}

/** What is null is not in the item. */
const withoutNulls = (record: TokenRecord) =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));

/** Writes when the token was used, unless a later use is known or the token is gone. */
async function noteUse(table: Table, { tokenId, atMs }: { tokenId: string; atMs: number }): Promise<void> {
  const condition = all(exists, '(attribute_not_exists(#lastUsedAtMs) OR #lastUsedAtMs < :lastUsedAtMs)');
  await tokens.set(table, tokenId, { lastUsedAtMs: atMs }, { condition });
}

/** Deletes the token if it is this tenant's. */
async function revoke(
  table: Table,
  { tenant, tokenId }: { tenant: string; tokenId: string },
): Promise<'deleted' | 'absent'> {
  const own = { condition: '#tenant = :tenant', values: { ':tenant': tenant } };
  return (await tokens.remove(table, tokenId, own)) ? 'deleted' : 'absent';
}

/** All tokens of a tenant, oldest first. */
const list = (table: Table, tenant: string) => listKind(table, `TOKENS#${tenant}`);

/** All who signed in, oldest first: one for each user of a host, for some hours. */
const listUsers = (table: Table, tenant: string) => listKind(table, `USERS#${tenant}`);

async function listKind(table: Table, kind: string): Promise<readonly TokenRecord[]> {
  const ids: string[] = [];
  for await (const items of pagesOf(table, ofKind(kind))) ids.push(...items.map(tokenIdOfKey));
  return readTokens(table, ids);
}

const tokenIdOfKey = ({ pk }: Fields) => String(pk).slice('TOKEN#'.length);

/** The same, one page at a time. @param input.cursor `nextCursor` of the previous page. */
async function listPage(
  table: Table,
  input: { tenant: string; pageSize: number; cursor?: string },
): Promise<TokenPage> {
  const items = await firstItems(table, {
    // A space sorts before every digit.
    ...ofKind(`TOKENS#${input.tenant}`, { after: input.cursor ?? ' ' }),
    // One more than the page, to know whether another follows.
    Limit: input.pageSize + 1,
  });
  const { page, last } = pageOf(items, input.pageSize);
  return {
    tokens: await readTokens(table, page.map(tokenIdOfKey)),
    nextCursor: last ? String(last[byKindIndex.sk]) : null,
  };
}

/** The index may still name a token that was revoked: what counts is its item. */
async function readTokens(table: Table, ids: readonly string[]): Promise<readonly TokenRecord[]> {
  const found = await tokens.readSome(table, ids);
  const isThere = new Set<unknown>([undefined, ...found.map(({ tokenId }) => tokenId)]);
  const elsewhere = new Set(
    found.flatMap(({ parentId }) => (!parentId || isThere.has(parentId) ? [] : parentId)),
  );
  for (const { tokenId } of await tokens.readSome(table, [...elsewhere])) isThere.add(tokenId);
  const records = found.filter(({ parentId }) => isThere.has(parentId));
  return oldestFirst(records, ({ tokenId }) => tokenId);
}
