import { afterAll } from 'vitest';
import { createDynamoDbLedger } from '../../lambda/core/ledger/ledger.ts';
import { admissionContract } from '../contract/admission.contract.ts';
import { tableContract } from '../contract/table.contract.ts';
import { dynamoDbLocal, type EngineTable, openEngineTable } from './dynamodb.ts';
import { describeOn } from './engine.ts';

describeOn(dynamoDbLocal, (url) => {
  let opened: EngineTable | undefined;
  afterAll(() => opened?.close());
  const table = async () => {
    opened ??= await openEngineTable(url);
    return opened.table;
  };
  tableContract(table);
  admissionContract(async () => createDynamoDbLedger(await table()), 120_000);
});
