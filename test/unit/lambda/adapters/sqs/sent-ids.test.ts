import { expect, it } from 'vitest';
import { SentIds } from '../../../../../lambda/adapters/sqs/sent-ids.ts';

it('ids that were sent are remembered, up to a thousand', () => {
  const sent = new SentIds();
  expect(sent.has('id0')).toBe(false);
  for (let id = 0; id < 1000; id += 1) sent.add(`id${id}`);
  expect([sent.has('id0'), sent.has('id999'), sent.has('id1000')]).toEqual([true, true, false]);
  sent.add('id1000');
  expect([sent.has('id0'), sent.has('id1000')]).toEqual([false, true]);
});
