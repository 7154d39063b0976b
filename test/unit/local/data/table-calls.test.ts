import { expect, it } from 'vitest';
import { AwsServiceError } from '../../../../lambda/adapters/aws-http/service-error.ts';
import { tableCalls } from '../../../../local/data/table-calls.ts';

/** What is done for a request with so much in it, and so much in its answer, in order. */
async function stepsOf({ asked, answered }: { asked: number; answered: number }): Promise<string[]> {
  const steps: string[] = [];
  const call = tableCalls(
    {
      run: async (operation, input) => {
        steps.push(`${operation} ${JSON.stringify(input).length}`);
        return { statusCode: 200, body: { text: 'x'.repeat(answered) } };
      },
    },
    {
      pause: async () => {
        steps.push('pause');
      },
    },
  );
  const output = await call('PutItem', { text: 'x'.repeat(asked) });
  expect(output).toEqual({ text: 'x'.repeat(answered) });
  return steps;
}

it('pauses before a large request, and behind a large answer', async () => {
  const large = 100_000;
  expect(await stepsOf({ asked: 10, answered: 10 })).toEqual(['PutItem 21']);
  expect(await stepsOf({ asked: large, answered: 10 })).toEqual(['pause', 'PutItem 100011']);
  expect(await stepsOf({ asked: 10, answered: large })).toEqual(['PutItem 21', 'pause']);
});

it('throws what DynamoDB would answer', async () => {
  const body = { __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException', message: 'No.' };
  const call = tableCalls({ run: async () => ({ statusCode: 400, body }) }, { pause: async () => {} });
  const refused = call('PutItem', {});
  await expect(refused).rejects.toThrow(AwsServiceError);
  await expect(refused).rejects.toMatchObject({
    code: 'ConditionalCheckFailedException',
    status: 400,
    message: 'The table answered PutItem with 400 ConditionalCheckFailedException: No.',
  });
});

it("answers with a copy: what the caller changes is not the engine's", async () => {
  const body = { Item: { a: { S: 'kept' } } };
  const call = tableCalls({ run: async () => ({ statusCode: 200, body }) }, { pause: async () => {} });
  expect(await call('GetItem', {})).toEqual(body);
  expect((await call('GetItem', {}))['Item']).not.toBe(body.Item);
});
