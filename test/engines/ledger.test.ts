import { afterAll } from 'vitest';
import { createDynamoDbLedger } from '../../lambda/adapters/aws/dynamodb-ledger.ts';
import { createDynamoDbTokenStore } from '../../lambda/adapters/aws/dynamodb-token-store.ts';
import { ledgerContract } from '../contract/ledger.contract.ts';
import { dynamoDbLocal, type EngineTable, openEngineTable } from './dynamodb.ts';
import { describeOn } from './engine.ts';

describeOn(dynamoDbLocal, (url) => {
  let opened: EngineTable | undefined;
  afterAll(() => opened?.close());
  ledgerContract(async () => {
    opened = await openEngineTable(url);
    const { table } = opened;
    return { ledger: createDynamoDbLedger(table), tokens: createDynamoDbTokenStore(table) };
  });
});
