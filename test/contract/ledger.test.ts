import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CreateTableCommand, DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import dynalite from 'dynalite';
import { afterAll, describe, expect, it } from 'vitest';
import { createDynamoDb } from '../../lambda/adapters/dynamodb/client.ts';
import { unmarkChange } from '../../lambda/adapters/dynamodb/deletions.ts';
import { updateExpression } from '../../lambda/adapters/dynamodb/expressions.ts';
import { createDynamoDbLedger } from '../../lambda/adapters/dynamodb/ledger.ts';
import { tenantChange } from '../../lambda/adapters/dynamodb/reconciles.ts';
import { createDynamoDbRequestKeys } from '../../lambda/adapters/dynamodb/request-keys.ts';
import { tableDefinition } from '../../lambda/adapters/dynamodb/table.ts';
import { createDynamoDbTokenStore } from '../../lambda/adapters/dynamodb/token-store.ts';
import { newDeletion, unmarkedObjectsMax } from '../../lambda/domain/deletion.ts';
import { expiredNotes } from '../../lambda/domain/reconciliation.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import { LedgerUnavailableError } from '../../lambda/ports/ledger.ts';
import { MemoryLedger } from '../support/memory/ledger.ts';
import { MemoryRequestKeys } from '../support/memory/request-keys.ts';
import { MemoryTokenStore } from '../support/memory/token-store.ts';
import { admissionContract } from './admission.contract.ts';
import { ledgerContract } from './ledger.contract.ts';
import { type LedgerUnderTest, ledgerContext, plainCommit } from './ledger-context.ts';

/** DynamoDB refuses a longer expression. dynalite does not. */
const expressionBytesMax = 4096;

function refuseLongExpressions(client: DynamoDBDocumentClient): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const { input } = args;
      const expression = 'UpdateExpression' in input ? String(input.UpdateExpression) : '';
      if (expression.length > expressionBytesMax)
        throw new Error('Expression size has exceeded the maximum.');
      return next(args);
    },
    { step: 'initialize' },
  );
}

/** Not part of the contract: an engine may take a longer expression than AWS does. */
function expressionLimit(open: () => Promise<LedgerUnderTest>): void {
  describe('an update expression', () => {
    const { get, create } = ledgerContext(open);
    const ids = (count: number) => Array.from({ length: count }, (_, index) => `note${index}`);

    it('is refused if it is longer than DynamoDB allows', async () => {
      const tenant = await create();
      await get().ledger.beginReconcile({ tenant, nowMs: 1000, leaseUntilMs: 2000 });
      const commit = { tenant, epoch: 1, ...plainCommit, dueAtMs: 9e15 };
      await expect(get().ledger.commitTenant({ ...commit, expiredNotes: ids(300) })).rejects.toThrow(
        LedgerUnavailableError,
      );
      const objects = { tenant, repo: 'app', deletionId: 'd', names: ids(300) };
      await expect(get().ledger.unmark(objects)).rejects.toThrow(LedgerUnavailableError);
      expect(await get().ledger.commitTenant({ ...commit, expiredNotes: [] })).toMatchObject({
        kind: 'committed',
      });
    });

    it('fits for as many notes as one commit removes, with every other field of it', async () => {
      const tenant = await create();
      const note = { repo: 'app', bytes: 1, deadlineMs: 5 };
      for (const noteId of ids(250)) await get().ledger.announceDelete({ tenant, noteId, note });
      const begun = await get().ledger.beginReconcile({ tenant, nowMs: 1000, leaseUntilMs: 2000 });
      if (begun.kind !== 'begun') throw new Error(begun.kind);
      const commit = { tenant, epoch: 1, ...plainCommit, dueAtMs: 9e15 };
      const expired = expiredNotes(defaultSettings, begun.before, 9e15);
      expect((await get().ledger.commitTenant({ ...commit, expiredNotes: expired })).kind).toBe('committed');
      expect((await get().ledger.readTenant(tenant))?.notes.size).toBe(250 - expired.length);
      expect(
        Buffer.byteLength(updateExpression(tenantChange({ ...commit, expiredNotes: expired }))),
      ).toBeLessThan(expressionBytesMax);
    });

    it('fits for as many objects as one write takes out of a deletion', async () => {
      const tenant = await create();
      const names = ids(unmarkedObjectsMax).map((id) => id.padStart(64, '0'));
      const objects = new Map(names.map((name) => [name, 1]));
      const deletion = newDeletion({ id: 'd', repo: 'app', objects, dueAtMs: 9e15 });
      await get().ledger.putDeletion({ tenant, deletion });
      expect(await get().ledger.unmark({ tenant, repo: 'app', deletionId: 'd', names })).toBe('unmarked');
      expect(Buffer.byteLength(updateExpression(unmarkChange(names)))).toBeLessThan(expressionBytesMax);
    });
  });
}

describe('ledger in memory', () => {
  expressionLimit(async () => ({
    ledger: new MemoryLedger(),
    tokens: new MemoryTokenStore(),
    requestKeys: new MemoryRequestKeys(),
  }));
  ledgerContract(async () => ({
    ledger: new MemoryLedger({ pageSize: 7 }),
    tokens: new MemoryTokenStore(),
    requestKeys: new MemoryRequestKeys(),
  }));
  admissionContract(async () => new MemoryLedger(), 30_000);
});

describe('ledger on dynalite', () => {
  let server: Server | undefined;
  afterAll(() => new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve())));
  const openTable = async () => {
    const started: Server = dynalite({ createTableMs: 0 });
    server = started;
    await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
    const { port } = started.address() as AddressInfo;
    const client = createDynamoDb({
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      timeoutFactor: 10,
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    });
    refuseLongExpressions(client);
    const tableName = 'ledger';
    await client.send(new CreateTableCommand(tableDefinition(tableName)));
    for (;;) {
      const { Table } = await client.send(new DescribeTableCommand({ TableName: tableName }));
      if (Table?.TableStatus === 'ACTIVE') break;
    }
    return { client, tableName };
  };
  let opened: ReturnType<typeof openTable> | undefined;
  const table = () => {
    opened ??= openTable();
    return opened;
  };
  const open = async () => ({
    ledger: createDynamoDbLedger(await table()),
    tokens: createDynamoDbTokenStore(await table()),
    requestKeys: createDynamoDbRequestKeys(await table()),
  });
  expressionLimit(open);
  ledgerContract(open);
  admissionContract(async () => createDynamoDbLedger(await table()), 120_000);
});
