import * as z from 'zod';
import { absent, all, exists, type Fields } from '../table/expressions.ts';
import { absentOrOver, oldestFirst, pageOf, recordsOf } from '../table/records.ts';
import {
  firstItems,
  getItem,
  inPartition,
  methodsOn,
  ofKind,
  pagesOf,
  putItem,
  type Table,
} from '../table/requests.ts';
import { byKindIndex, expiring, kindKey } from '../table/table.ts';
import { hostOf } from './rules/host-user.ts';
import { type ExchangeRule, ruleSchema } from './rules/identities.ts';
import {
  invitationLifetimeMs,
  type SessionRecord,
  sessionSchema,
  shownAfterExpiryMs,
  type TokenRecord,
  tokenSchema,
} from './rules/tokens.ts';
import { allowedOrganizations } from './user-store.ts';

const partitionOf = (tenant: string) => `EXCHANGE#${tenant}`;

type RuleKey = Pick<ExchangeRule, 'tenant' | 'id'>;
const ruleKey = ({ tenant, id }: RuleKey) => ({ pk: partitionOf(tenant), sk: `RULE#${id}` });
const rules = recordsOf<RuleKey, ExchangeRule>({
  keyOf: ruleKey,
  schema: ruleSchema,
  fields: ({ repos, ...rest }) => ({ ...rest, ...(repos && { repos }) }),
});

/**
 * The rules of tenants by which identities get tokens. On the ledger's table, in a partition of their own: the counter's is
 * for what is counted.
 */
export function createDynamoDbExchangeRules(table: Table) {
  return {
    /** All of a tenant, the oldest first. Strongly consistent, so that a deleted rule lets nobody in. */
    list: async (tenant: string) =>
      oldestFirst(await rules.list(table, inPartition(partitionOf(tenant))), ({ id }) => id),
    /** An attempt that is repeated finds its own rule: ids are random. */
    put: (rule: ExchangeRule) => rules.put(table, rule),
    delete: async (rule: RuleKey) =>
      (await rules.remove(table, rule, { condition: exists })) ? 'deleted' : 'absent',
  };
}

export type ExchangeRules = ReturnType<typeof createDynamoDbExchangeRules>;

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
 * Stored access tokens: never the secret, only its SHA-256. On the ledger's table: one item for each token, found by its
 * public id.
 */
export function createDynamoDbTokenStore(table: Table) {
  return methodsOn(table, {
    find,
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
async function find(table: Table, tokenId: string): Promise<TokenRecord | undefined> {
  const token = await tokens.read(table, tokenId);
  if (token?.hostUser) return (await isAllowed(table, token)) ? token : undefined;
  if (token?.parentId !== undefined) return (await getItem(table, tokens.keyOf(token.parentId))) && token;
  if (token?.ruleId === undefined) return token;
  return (await getItem(table, ruleKey({ tenant: token.tenant, id: token.ruleId }))) && token;
}

/** Whether what lets somebody sign in is still as it was then. */
async function isAllowed(table: Table, { tenant, hostUser, allowedBy }: TokenRecord): Promise<boolean> {
  if (!hostUser || !allowedBy) return false;
  const allowed = await allowedOrganizations.read(table, {
    tenant,
    host: hostOf(hostUser),
    organizationId: allowedBy.organizationId,
  });
  return allowed?.sinceMs === allowedBy.sinceMs;
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
  // What a user was the last time tells whether their invitations are still worth something.
  ...(record.expiresAtMs !== null &&
    expiring(record.expiresAtMs + (record.hostUser ? invitationLifetimeMs : shownAfterExpiryMs))),
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

const requestKeyItem = z.object({
  /** Identifies the key together with its purpose. */
  id: z.string(),
  /** SHA-256 of the request's body. The same key with another body is an error of the client. */
  bodySha256: z.string(),
  /** Random. Everything the request creates is derived from it, so that a repetition creates the same. */
  seed: z.string(),
  beganAtMs: z.number(),
  /** From then on the key may be used for another request. */
  expiresAtMs: z.number(),
  /** Whether the request has created what it is for. */
  isDone: z.boolean(),
});

export type RequestKeyRecord = Readonly<z.output<typeof requestKeyItem>>;

const keyFields = (record: RequestKeyRecord) => ({ ...record, ...expiring(record.expiresAtMs) });
const requestKeys = recordsOf<Pick<RequestKeyRecord, 'id'>, RequestKeyRecord>({
  keyOf: ({ id }) => ({ pk: `REQUEST#${id}`, sk: 'REQUEST' }),
  schema: requestKeyItem,
  fields: keyFields,
});

/**
 * Keys with which a client marks a request that it may repeat (HTTP: `Idempotency-Key`). On the ledger's table, one item
 * for each. The table's TTL removes them some time after they expire.
 */
export function createDynamoDbRequestKeys(table: Table) {
  return {
    /** Stores the record, unless there is one with its id that has not expired. @returns what is stored then. */
    async begin(record: RequestKeyRecord): Promise<RequestKeyRecord> {
      const isOver = { condition: absentOrOver, values: { ':now': record.beganAtMs } };
      if (await requestKeys.put(table, record, isOver)) return record;
      // A retry of our own, after a lost answer, finds our own record.
      return (await requestKeys.read(table, record)) ?? record;
    },
    /** Whether there is a record that has not expired by then. */
    async isKnown({ id, nowMs }: { id: string; nowMs: number }): Promise<boolean> {
      return ((await requestKeys.read(table, { id }))?.expiresAtMs ?? 0) > nowMs;
    },
    /** Marks the request as done. */
    finish: (id: string) => requestKeys.set(table, { id }, { isDone: true }, { condition: exists }),
  };
}

export type RequestKeys = ReturnType<typeof createDynamoDbRequestKeys>;
