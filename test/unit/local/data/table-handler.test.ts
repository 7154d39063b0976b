import { HttpRequest } from '@smithy/protocol-http';
import { expect, it } from 'vitest';
import { tableHandler } from '../../../../local/data/table-handler.ts';

/** What is done for a request with so much in it, and so much in its answer, in order. */
async function stepsOf({ asked, answered }: { asked: number; answered: number }): Promise<string[]> {
  const steps: string[] = [];
  const handler = tableHandler(
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
  const { response } = await handler.handle(
    new HttpRequest({
      headers: { 'x-amz-target': 'DynamoDB_20120810.PutItem' },
      body: Buffer.from(JSON.stringify({ text: 'x'.repeat(asked) })),
    }),
  );
  expect(response.statusCode).toBe(200);
  expect(JSON.parse(String(response.body))).toEqual({ text: 'x'.repeat(answered) });
  return steps;
}

it('pauses before a large request, and behind a large answer', async () => {
  const large = 100_000;
  expect(await stepsOf({ asked: 10, answered: 10 })).toEqual(['PutItem 21']);
  expect(await stepsOf({ asked: large, answered: 10 })).toEqual(['pause', 'PutItem 100011']);
  expect(await stepsOf({ asked: 10, answered: large })).toEqual(['PutItem 21', 'pause']);
});
