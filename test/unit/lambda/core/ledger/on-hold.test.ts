import { beforeEach, describe, expect, it } from 'vitest';
import { type LargeRepoStack, largeRepoStack } from '../../../../support/memory/large-repo-stack.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const hour = 60 * minute;

/** As a tenant is after its items were restored. */
async function hold(stack: MemoryStack, uploadsFromMs: number): Promise<void> {
  const { client, tableName } = stack.ledger.table;
  await client.send('UpdateItem', {
    TableName: tableName,
    Key: { pk: `TENANT#${tenant}`, sk: 'TENANT' },
    UpdateExpression: 'SET #from = :ms',
    ExpressionAttributeNames: { '#from': 'uploadsFromMs' },
    ExpressionAttributeValues: { ':ms': uploadsFromMs },
  });
}

describe('a tenant that was restored', () => {
  let stack: MemoryStack;
  beforeEach(async () => {
    stack = new MemoryStack();
    await stack.create(100);
  });

  const push = () => stack.kinds('app', { [oidOf(1)]: 10 });

  it('takes uploads once a full count that began after the last URL from before is committed', async () => {
    await hold(stack, stack.nowMs + hour);
    expect(await push()).toBe('retry');
    expect(stack.requests).toEqual([]);
    // A count that is too early, and one that is not of everything.
    await stack.consume({ full: true });
    expect(await push()).toBe('retry');
    stack.nowMs += hour + 1;
    await stack.consume();
    expect(await push()).toBe('retry');
    expect(stack.requests).toEqual([{ tenant, reason: 'refusal', full: true }]);
    // What landed meanwhile, by a URL that nobody here knows of, counts.
    stack.put({ [`app/${oidOf(2)}`]: 95 });
    await stack.consume({ full: true });
    expect(await push()).toBe('over-limit');
    expect(await stack.kinds('app', { [oidOf(3)]: 5 })).toBe('upload');
  });

  it('is counted by the schedule alone, soon after it can be', async () => {
    await hold(stack, stack.nowMs + hour);
    await stack.consume({ full: true });
    expect(await stack.pass(2 * hour)).toEqual([1.25]);
    expect(await push()).toBe('upload');
  });

  it('reserves nothing and answers what is left to wait, up to four minutes', async () => {
    await hold(stack, stack.nowMs + hour);
    await push();
    expect(stack.reservations).toEqual([]);
    expect((await stack.usage()).committedBytes).toBe(0);
  });
});

describe('a restored tenant with a large repo', () => {
  let stack: LargeRepoStack;
  beforeEach(async () => {
    stack = await largeRepoStack();
  });

  it('waits until each shard is counted again', async () => {
    stack.nowMs += minute;
    await hold(stack, stack.nowMs);
    stack.nowMs += minute;
    const lists = stack.lists;
    await stack.consume({ full: true });
    expect(stack.lists).toBeGreaterThanOrEqual(lists + 16);
    expect(await stack.kinds('app', { [oidOf(500)]: 10 })).toBe('upload');
    const after = stack.lists;
    stack.nowMs += minute;
    await stack.consume();
    expect(stack.lists).toBeLessThan(after + 16);
  });
});
