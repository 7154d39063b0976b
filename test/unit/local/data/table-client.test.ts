import { expect, it } from 'vitest';
import { AwsServiceError } from '../../../../lambda/adapters/aws-sdk/service-error.ts';
import { createLocalTableClient } from '../../../../local/data/table-client.ts';

const key = { pk: 'p', sk: 's' };

/** What is done for an item with so much in it, and so much in its answer, in order. */
async function stepsOf({ asked, answered }: { asked: number; answered: number }): Promise<string[]> {
  const steps: string[] = [];
  const client = createLocalTableClient(
    {
      run: async (operation, input) => {
        steps.push(`${operation} ${JSON.stringify(input).length > asked}`);
        return { statusCode: 200, body: { Attributes: { text: { S: 'x'.repeat(answered) } } } };
      },
    },
    {
      pause: async () => {
        steps.push('pause');
      },
    },
  );
  const input = { TableName: 't', Key: { ...key, more: 'x'.repeat(asked) } };
  expect(await client.send('DeleteItem', input)).toEqual({ Attributes: { text: 'x'.repeat(answered) } });
  return steps;
}

it('pauses before a large request, and behind a large answer', async () => {
  const large = 100_000;
  expect(await stepsOf({ asked: 10, answered: 10 })).toEqual(['DeleteItem true']);
  expect(await stepsOf({ asked: large, answered: 10 })).toEqual(['pause', 'DeleteItem true']);
  expect(await stepsOf({ asked: 10, answered: large })).toEqual(['DeleteItem true', 'pause']);
});

it('throws what DynamoDB would answer', async () => {
  const body = { __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException', message: 'No.' };
  const engine = { run: async () => ({ statusCode: 400, body }) };
  const client = createLocalTableClient(engine, { pause: async () => {} });
  const refused = client.send('PutItem', { TableName: 't', Item: key });
  await expect(refused).rejects.toThrow(AwsServiceError);
  await expect(refused).rejects.toMatchObject({
    code: 'ConditionalCheckFailedException',
    status: 400,
    message: 'The table refused PutItem: No.',
  });
});

it("answers with a copy: what the caller changes is not the engine's", async () => {
  const body = { Item: { a: { L: [{ S: 'kept' }] } } };
  const engine = { run: async () => ({ statusCode: 200, body }) };
  const client = createLocalTableClient(engine, { pause: async () => {} });
  const { Item } = await client.send('GetItem', { TableName: 't', Key: key });
  expect(Item).toBeDefined();
  (Item as { a: string[] }).a.push('changed');
  expect((await client.send('GetItem', { TableName: 't', Key: key })).Item).toEqual({ a: ['kept'] });
});
