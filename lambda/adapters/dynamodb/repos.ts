import { GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { Ledger } from '../../ports/ledger.ts';
import { send, sendIf } from './client.ts';
import { aliases, type Table } from './expressions.ts';
import { dueKey, parseRepo, repoKey } from './items.ts';
import { byDueIndex } from './table.ts';

type RepoMethods = 'readRepo' | 'closeRepo' | 'openRepo' | 'markDirty';

interface RepoPath {
  readonly tenant: string;
  readonly repo: string;
}

const dueNames = { '#duepk': byDueIndex.pk, '#dueat': byDueIndex.sk };

/** What is set on a repo item besides its counts. */
export function repoMethods(table: Table): Pick<Ledger, RepoMethods> {
  return {
    async readRepo(path) {
      const output = await send(() =>
        table.client.send(
          new GetCommand({ TableName: table.tableName, Key: repoKey(path), ConsistentRead: true }),
        ),
      );
      return output.Item && parseRepo(output.Item);
    },
    closeRepo: (input) => closeRepo(table, input),
    openRepo: (input) => openRepo(table, input),
    markDirty: ({ dirtyToken, ...path }) =>
      put(table, path, {
        set: '#dirtyToken = :dirty',
        names: aliases('dirtyToken'),
        values: { ':dirty': dirtyToken },
      }),
  };
}

async function closeRepo(table: Table, input: RepoPath & { closedAtMs: number }): Promise<void> {
  const due = dueKey({ kind: 'DELETION', tenant: input.tenant, dueAtMs: input.closedAtMs });
  await put(table, input, {
    set:
      '#closedAtMs = if_not_exists(#closedAtMs, :closed), ' +
      '#duepk = :duepk, #dueat = if_not_exists(#dueat, :closed)',
    names: { ...aliases('closedAtMs'), ...dueNames },
    values: { ':closed': input.closedAtMs, ':duepk': due[byDueIndex.pk] },
  });
}

async function openRepo(
  table: Table,
  input: RepoPath & { closedAtMs: number },
): Promise<'opened' | 'refused'> {
  const result = await sendIf(() =>
    table.client.send(
      new UpdateCommand({
        TableName: table.tableName,
        Key: repoKey(input),
        UpdateExpression: 'REMOVE #closedAtMs, #duepk, #dueat',
        ConditionExpression: '#closedAtMs = :closed',
        ExpressionAttributeNames: { ...aliases('closedAtMs'), ...dueNames },
        ExpressionAttributeValues: { ':closed': input.closedAtMs },
      }),
    ),
  );
  return result.ok ? 'opened' : 'refused';
}

/** Sets some attributes; an item that is not there yet is put as never scanned (epoch 0). */
async function put(
  table: Table,
  path: RepoPath,
  change: { set: string; names: Record<string, string>; values: Record<string, unknown> },
): Promise<void> {
  const zeros = ['epoch', 'storedBytes', 'objectCount', 'countedAtMs'];
  await send(() =>
    table.client.send(
      new UpdateCommand({
        TableName: table.tableName,
        Key: repoKey(path),
        UpdateExpression:
          `SET #repo = :repo, #covered = if_not_exists(#covered, :none), ` +
          `${zeros.map((name) => `#${name} = if_not_exists(#${name}, :zero)`).join(', ')}, ${change.set}`,
        ExpressionAttributeNames: { ...aliases('repo', 'covered', ...zeros), ...change.names },
        ExpressionAttributeValues: {
          ':repo': path.repo,
          ':zero': 0,
          ':none': [],
          ...change.values,
        },
      }),
    ),
  );
}
