import { describe, expect, it } from 'vitest';
import { mayDo } from '../../../support/table-grants.ts';

describe('the grants of lfsLocks on items', () => {
  const TableName = 'table';
  const update = (pk: string, names: Record<string, string>) => ({
    TableName,
    Key: { pk, sk: 'TOKEN' },
    UpdateExpression: '',
    ExpressionAttributeNames: names,
  });

  it('let it take a lock, and note that a token was used', () => {
    expect(mayDo('lfsLocks', 'PutItem', { TableName, Item: { pk: 'LOCKS#acme', sk: 'game#0' } })).toBe(true);
    const use = update('TOKEN#a', { '#pk': 'pk', '#lastUsedAtMs': 'lastUsedAtMs' });
    expect(mayDo('lfsLocks', 'UpdateItem', use)).toBe(true);
    expect(mayDo('lfsLocks', 'GetItem', { TableName, Key: { pk: 'TENANT#acme', sk: 'TENANT' } })).toBe(true);
  });

  it('let it neither make a token nor change what one may do, nor reach a tenant or an index', () => {
    expect(mayDo('lfsLocks', 'PutItem', { TableName, Item: { pk: 'TOKEN#a', sk: 'TOKEN' } })).toBe(false);
    expect(mayDo('lfsLocks', 'UpdateItem', update('TOKEN#a', { '#scope': 'scope' }))).toBe(false);
    expect(mayDo('lfsLocks', 'UpdateItem', update('TENANT#acme', { '#pk': 'pk' }))).toBe(false);
    expect(mayDo('lfsLocks', 'DeleteItem', update('XLOCKS#acme', {}))).toBe(false);
    const query = { TableName, IndexName: 'by-kind', KeyConditionExpression: '' };
    expect(mayDo('lfsLocks', 'Query', query)).toBe(false);
  });
});
