import * as z from 'zod';
import { type PublicRead, publicReposMax } from '../../domain/public-read.ts';
import type { RepoPath } from '../../ports/ledger.ts';
import type { PublicReads } from '../../ports/public-reads.ts';
import { absent } from './expressions.ts';
import { firstItems } from './pages.ts';
import { getItem, putItem, type Table } from './requests.ts';
import { expiryAttribute, keyNames } from './table.ts';
import { untilWritten } from './until-written.ts';

/** After it has ended, an item stays for so long: no write lands later. */
const endedKeptMs = 24 * 60 * 60_000;

const publicReadItem = z.object({
  repo: z.string(),
  /** Counts the changes, so that each write is over the one that was read. */
  version: z.number(),
  /** Absent once it has ended. */
  publicRead: z.object({ monthlyLimitBytes: z.number().nullable(), sinceMs: z.number() }).optional(),
});

/** What strangers read, and are metered by: of no matter to whoever has a token. */
export const publicPartition = (tenant: string) => `PUBLIC#${tenant}`;

const keyOf = ({ tenant, repo }: RepoPath) => ({ pk: publicPartition(tenant), sk: `REPO#${repo}` });

/** Public repos on the ledger's table, an item for each. */
export function createDynamoDbPublicReads(table: Table): PublicReads {
  return {
    find: async (path) => (await read(table, path)).publicRead,
    list: (tenant) => list(table, tenant),
    put: ({ tenant, publicRead }) =>
      untilWritten(async () => {
        const path = { tenant, repo: publicRead.repo };
        const { version } = await read(table, path);
        const { monthlyLimitBytes, sinceMs } = publicRead;
        const fields = { publicRead: { monthlyLimitBytes, sinceMs } };
        return (await write(table, { path, version, fields })) ? { result: undefined } : undefined;
      }),
    end: ({ atMs, ...path }) =>
      untilWritten(async () => {
        const { version, publicRead } = await read(table, path);
        if (!publicRead) return { result: undefined };
        const fields = { [expiryAttribute]: Math.ceil((atMs + endedKeptMs) / 1000) };
        return (await write(table, { path, version, fields })) ? { result: publicRead } : undefined;
      }),
  };
}

/** @returns version 0 if there is no item. */
async function read(table: Table, path: RepoPath): Promise<{ version: number; publicRead?: PublicRead }> {
  const item = await getItem(table, keyOf(path));
  return item ? parse(item) : { version: 0 };
}

function parse(item: unknown): { version: number; publicRead?: PublicRead } {
  const { repo, version, publicRead } = publicReadItem.parse(item);
  return { version, ...(publicRead && { publicRead: { repo, ...publicRead } }) };
}

async function write(
  table: Table,
  { path, version, fields }: { path: RepoPath; version: number; fields: Readonly<Record<string, unknown>> },
): Promise<boolean> {
  const { ok } = await putItem(table, {
    item: { ...keyOf(path), repo: path.repo, version: version + 1, ...fields },
    ...(version === 0
      ? { condition: absent }
      : { condition: '#version = :version', values: { ':version': version } }),
  });
  return ok;
}

async function list(table: Table, tenant: string): Promise<readonly PublicRead[]> {
  const items = await firstItems(table, {
    KeyConditionExpression: '#pk = :pk AND begins_with(#sk, :repos)',
    FilterExpression: 'attribute_exists(#publicRead)',
    ExpressionAttributeNames: { '#pk': keyNames.pk, '#sk': keyNames.sk, '#publicRead': 'publicRead' },
    ExpressionAttributeValues: { ':pk': publicPartition(tenant), ':repos': 'REPO#' },
    ConsistentRead: true,
    Limit: 2 * publicReposMax,
  });
  return items.flatMap((item) => parse(item).publicRead ?? []);
}
