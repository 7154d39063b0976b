import { GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { Ledger } from '../../ports/ledger.ts';
import { unconditional } from './dynamodb-client.ts';
import { aliases, type Table } from './dynamodb-expressions.ts';
import { parseRepo, repoKey } from './dynamodb-items.ts';

type RepoMethods = 'readRepo' | 'setRepoClosed' | 'markDirty';

/** What is set on a repo item besides its counts. */
export function repoMethods(table: Table): Pick<Ledger, RepoMethods> {
  return {
    async readRepo(path) {
      const output = await unconditional(() =>
        table.client.send(
          new GetCommand({ TableName: table.tableName, Key: repoKey(path), ConsistentRead: true }),
        ),
      );
      return output.Item && parseRepo(output.Item);
    },
    setRepoClosed: ({ closedAtMs, ...path }) =>
      set(table, path, { name: 'closedAtMs', value: closedAtMs ?? undefined }),
    markDirty: ({ dirtyToken, ...path }) => set(table, path, { name: 'dirtyToken', value: dirtyToken }),
  };
}

/** Sets or removes one attribute; an item that is not there yet is put as never scanned (epoch 0). */
async function set(
  table: Table,
  path: { tenant: string; repo: string },
  attribute: { name: string; value: unknown },
): Promise<void> {
  const zeros = ['epoch', 'storedBytes', 'objectCount', 'countedAtMs'];
  const change =
    attribute.value === undefined ? ` REMOVE #${attribute.name}` : `, #${attribute.name} = :value`;
  await unconditional(() =>
    table.client.send(
      new UpdateCommand({
        TableName: table.tableName,
        Key: repoKey(path),
        UpdateExpression:
          `SET #repo = :repo, #covered = if_not_exists(#covered, :none), ` +
          zeros.map((name) => `#${name} = if_not_exists(#${name}, :zero)`).join(', ') +
          change,
        ExpressionAttributeNames: aliases('repo', 'covered', attribute.name, ...zeros),
        ExpressionAttributeValues: {
          ':repo': path.repo,
          ':zero': 0,
          ':none': [],
          ...(attribute.value !== undefined && { ':value': attribute.value }),
        },
      }),
    ),
  );
}
