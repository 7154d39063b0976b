import * as z from 'zod';
import { nullable } from '../ledger/items.ts';
import { absent, all, exists, setting } from '../table/expressions.ts';
import {
  allItems,
  batchGet,
  deleteItem,
  firstItems,
  getItem,
  inPartition,
  methodsOn,
  ofKind,
  pagesOf,
  putItem,
  type Table,
  updateItem,
} from '../table/requests.ts';
import { byKindIndex, expiring, kindKey } from '../table/table.ts';
import { type SessionRecord, shownAfterExpiryMs, type TokenRecord, userKeptMs } from './rules/tokens.ts';

const tokenItem = z.object({
  tokenId: z.string(),
  secretSha256: z.string(),
  tenant: z.string(),
  scope: z.enum(['read', 'write', 'manage']),
  label: nullable(z.string()),
  user: nullable(z.string()),
  repos: nullable(z.array(z.string())),
  ruleId: z.string().optional(),
  parentId: z.string().optional(),
  writeRepos: z.array(z.string()).optional(),
  hostUser: z.object({ id: z.string(), login: z.string() }).optional(),
  allowedBy: z
    .object({
      organizationId: z.string(),
      role: z.enum(['owner', 'member', 'collaborator']),
      sinceMs: z.number(),
    })
    .optional(),
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
  organizations: z
    .array(z.object({ host: z.string(), organizationId: z.string(), name: z.string() }))
    .optional(),
  organizationsAtMs: z.number().optional(),
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
    findSession,
    deleteSession,
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
  const item = await getItem(table, tokenKey(tokenId));
  const token = item && tokenItem.parse(item);
  if (token?.hostUser === undefined && token?.parentId !== undefined)
    return (await getItem(table, tokenKey(token.parentId))) && token;
  if (token?.hostUser === undefined && token?.ruleId === undefined) return token;
  const isVouchedFor = await Promise.all(vouchers.map((vouches) => vouches(table, token)));
  return isVouchedFor.includes(true) ? token : undefined;
}

async function put(table: Table, record: TokenRecord): Promise<'created' | 'exists'> {
  const item = tokenFields(record, `TOKENS#${record.tenant}`);
  const { ok } = await putItem(table, { item, condition: absent });
  return ok ? 'created' : 'exists';
}

/** Puts who signed in, over who they were the last time. */
async function putUser(table: Table, record: TokenRecord): Promise<void> {
  const item = tokenFields(record, `USERS#${record.tenant}`);
  const { ok } = await putItem(table, { item, condition: `${absent} OR attribute_exists(#hostUser)` });
  if (!ok) throw new Error('A token has the id of a user.');
}

/** @param kind what the index has it below. */
const tokenFields = (record: TokenRecord, kind: string) => ({
  ...tokenKey(record.tokenId),
  ...kindKey(kind, `${record.createdAtMs}#${record.tokenId}`),
  ...withoutNulls(record),
  ...(record.expiresAtMs !== null &&
    expiring(record.expiresAtMs + (record.hostUser ? userKeptMs : shownAfterExpiryMs))),
});

/** Does nothing if it is there. The newest {@link sessionsMax} of its parent stay. */
async function putSession(table: Table, record: SessionRecord): Promise<void> {
  const expires = expiring(record.expiresAtMs);
  await putItem(table, { item: { ...sessionKey(record), ...record, ...expires }, condition: absent });
  // Nobody is kept out: the oldest end.
  const all = await allItems(table, inPartition(sessionKey(record).pk, { prefix: 'SESSION#' }));
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

/** Notes the organizations of its holder. Does nothing if it is gone. */
async function noteOrganizations(
  table: Table,
  { parentId, sessionId, organizations, organizationsAtMs }: SessionRecord,
): Promise<void> {
  await updateItem(table, {
    key: sessionKey({ parentId, sessionId }),
    change: [setting({ organizations, organizationsAtMs })],
    condition: exists,
  });
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
const list = (table: Table, tenant: string) => listKind(table, `TOKENS#${tenant}`);

/** All who signed in, oldest first: one for each user of a host, for some hours. */
const listUsers = (table: Table, tenant: string) => listKind(table, `USERS#${tenant}`);

async function listKind(table: Table, kind: string): Promise<readonly TokenRecord[]> {
  const keys: Record<string, string>[] = [];
  for await (const items of pagesOf(table, ofKind(kind)))
    keys.push(...items.map((item) => ({ pk: String(item['pk']), sk: String(item['sk']) })));
  return readTokens(table, keys);
}

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
  const page = items.slice(0, input.pageSize);
  const last = items.length > input.pageSize ? page.at(-1) : undefined;
  const keys = page.map((item) => ({ pk: String(item['pk']), sk: String(item['sk']) }));
  return {
    tokens: await readTokens(table, keys),
    nextCursor: last ? String(last[byKindIndex.sk]) : null,
  };
}

/** The index may still name a token that was revoked: what counts is its item. */
async function readTokens(
  table: Table,
  keys: readonly Record<string, string>[],
): Promise<readonly TokenRecord[]> {
  const found = (await batchGet(table, keys)).map((item) => tokenItem.parse(item));
  const isThere = new Set<unknown>([undefined, ...found.map(({ tokenId }) => tokenId)]);
  const elsewhere = new Set(
    found.flatMap(({ parentId }) => (!parentId || isThere.has(parentId) ? [] : parentId)),
  );
  const parents = await batchGet(table, [...elsewhere].map(tokenKey));
  for (const parent of parents) isThere.add(tokenItem.parse(parent).tokenId);
  const records = found.filter(({ parentId }) => isThere.has(parentId));
  return records.sort((a, b) => a.createdAtMs - b.createdAtMs || (a.tokenId < b.tokenId ? -1 : 1));
}

type SessionKey = Pick<SessionRecord, 'parentId' | 'sessionId'>;
