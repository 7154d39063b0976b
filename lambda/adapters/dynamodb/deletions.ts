import { DeleteCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { Deletion } from '../../domain/deletion.ts';
import type { Ledger } from '../../ports/ledger.ts';
import { sendIf } from './client.ts';
import { absent, aliases, all, exists, type Table } from './expressions.ts';
import { deletionKey, dueKey, parseDeletion, tenantKey } from './items.ts';
import { itemsBelow } from './pages.ts';
import { byDueIndex } from './table.ts';

type DeletionMethods =
  | 'putDeletion'
  | 'deletions'
  | 'unmark'
  | 'claimDeletion'
  | 'endDeletion'
  | 'removeDeletion'
  | 'announceDelete'
  | 'removeNote';

type Input<M extends keyof Ledger> = Ledger[M] extends (input: infer I) => unknown ? I : never;

/** Deletions, and the notes on the tenant item that take their bytes off the floor. */
export function deletionMethods(table: Table): Pick<Ledger, DeletionMethods> {
  return {
    putDeletion: (input) => putDeletion(table, input),
    deletions: (tenant) => deletions(table, tenant),
    unmark: (input) => unmark(table, input),
    claimDeletion: (input) => claimDeletion(table, input),
    endDeletion: (input) => endDeletion(table, input),
    removeDeletion: (input) => removeDeletion(table, input),
    announceDelete: (input) => announceDelete(table, input),
    removeNote: (input) => removeNote(table, input),
  };
}

async function putDeletion(table: Table, { tenant, deletion }: Input<'putDeletion'>): Promise<void> {
  const { id, objects, ...rest } = deletion;
  await sendIf(() =>
    table.client.send(
      new PutCommand({
        TableName: table.tableName,
        Item: {
          ...deletionKey({ tenant, deletionId: id }),
          ...dueKey({ kind: 'DELETION', tenant, dueAtMs: rest.dueAtMs }),
          deletionId: id,
          objects: Object.fromEntries(objects),
          ...rest,
        },
        ConditionExpression: absent,
        ExpressionAttributeNames: aliases('pk'),
      }),
    ),
  );
}

async function* deletions(table: Table, tenant: string): AsyncIterable<readonly Deletion[]> {
  for await (const items of itemsBelow(table, { tenant, kind: 'DELETION#' })) yield items.map(parseDeletion);
}

async function unmark(table: Table, input: Input<'unmark'>): Promise<'unmarked' | 'refused'> {
  if (input.names.length === 0) return 'unmarked';
  const result = await sendIf(() =>
    table.client.send(
      new UpdateCommand({
        TableName: table.tableName,
        Key: deletionKey(input),
        UpdateExpression: `REMOVE ${input.names.map((_, index) => `#objects.#n${index}`).join(', ')}`,
        ConditionExpression: all(exists, '#state = :marked'),
        ExpressionAttributeNames: {
          ...aliases('pk', 'state', 'objects'),
          ...Object.fromEntries(input.names.map((name, index) => [`#n${index}`, name])),
        },
        ExpressionAttributeValues: { ':marked': 'marked' },
      }),
    ),
  );
  return result.ok ? 'unmarked' : 'refused';
}

const claimDeletion = async (
  table: Table,
  { tenant, before, deadlineMs }: Input<'claimDeletion'>,
): ReturnType<Ledger['claimDeletion']> => {
  const result = await sendIf(() =>
    table.client.send(
      new UpdateCommand({
        TableName: table.tableName,
        Key: deletionKey({ tenant, deletionId: before.id }),
        UpdateExpression: 'SET #state = :deleting, #deadlineMs = :deadline',
        ConditionExpression: all(exists, '#state = :state', '#deadlineMs = :before'),
        ExpressionAttributeNames: aliases('pk', 'state', 'deadlineMs'),
        ExpressionAttributeValues: {
          ':deleting': 'deleting',
          ':deadline': deadlineMs,
          ':state': before.state,
          ':before': before.deadlineMs,
        },
        ReturnValues: 'ALL_NEW',
      }),
    ),
  );
  return result.ok
    ? { kind: 'claimed', deletion: parseDeletion(result.output.Attributes) }
    : { kind: 'refused' };
};

async function endDeletion(table: Table, input: Input<'endDeletion'>): Promise<void> {
  const { left, dueAtMs, keptUntilMs } = input;
  const names = aliases('pk', 'state', 'deadlineMs');
  const values = { ':deleting': 'deleting', ':deadline': input.deadlineMs };
  const mine = {
    TableName: table.tableName,
    Key: deletionKey(input),
    ConditionExpression: all(exists, '#state = :deleting', '#deadlineMs = :deadline'),
  };
  const ended = endedAs({ left, dueAtMs, keptUntilMs });
  // A failed condition: another deleter took over, or this is our own retry.
  await sendIf<unknown>(() =>
    table.client.send(
      ended === undefined
        ? new DeleteCommand({ ...mine, ExpressionAttributeNames: names, ExpressionAttributeValues: values })
        : new UpdateCommand({
            ...mine,
            UpdateExpression: `SET ${Object.keys(ended).map((name) => `#${name} = :${name}`)}`,
            ExpressionAttributeNames: { ...names, ...aliases(...Object.keys(ended)) },
            ExpressionAttributeValues: {
              ...values,
              ...Object.fromEntries(Object.entries(ended).map(([name, value]) => [`:${name}`, value])),
            },
          }),
    ),
  );
}

/** What is set when a run ends; undefined where nothing is to be kept. */
function endedAs(
  input: Pick<Input<'endDeletion'>, 'left' | 'dueAtMs' | 'keptUntilMs'>,
): Record<string, unknown> | undefined {
  const { left, dueAtMs, keptUntilMs } = input;
  if (left.size > 0) {
    const objects = Object.fromEntries(left);
    return { state: 'marked', deadlineMs: 0, dueAtMs, [byDueIndex.sk]: dueAtMs, objects };
  }
  if (keptUntilMs === null) return undefined;
  return { state: 'gone', deadlineMs: keptUntilMs, dueAtMs: keptUntilMs, [byDueIndex.sk]: keptUntilMs };
}

async function removeDeletion(table: Table, input: Input<'removeDeletion'>): Promise<void> {
  await sendIf(() =>
    table.client.send(
      new DeleteCommand({
        TableName: table.tableName,
        Key: deletionKey(input),
        ConditionExpression: '#state = :gone',
        ExpressionAttributeNames: aliases('state'),
        ExpressionAttributeValues: { ':gone': 'gone' },
      }),
    ),
  );
}

async function announceDelete(table: Table, input: Input<'announceDelete'>): Promise<void> {
  await sendIf(() =>
    table.client.send(
      new UpdateCommand({
        TableName: table.tableName,
        Key: tenantKey(input.tenant),
        UpdateExpression: 'ADD #deletedBytes :bytes SET #notes.#note = :note',
        ConditionExpression: all(exists, 'attribute_not_exists(#notes.#note)'),
        ExpressionAttributeNames: { ...aliases('pk', 'deletedBytes', 'notes'), '#note': input.noteId },
        ExpressionAttributeValues: { ':bytes': input.note.bytes, ':note': input.note },
      }),
    ),
  );
}

async function removeNote(table: Table, input: { tenant: string; noteId: string }): Promise<void> {
  await sendIf(() =>
    table.client.send(
      new UpdateCommand({
        TableName: table.tableName,
        Key: tenantKey(input.tenant),
        UpdateExpression: 'REMOVE #notes.#note',
        ConditionExpression: exists,
        ExpressionAttributeNames: { ...aliases('pk', 'notes'), '#note': input.noteId },
      }),
    ),
  );
}
