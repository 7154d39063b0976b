import { expect, it } from 'vitest';
import { inTurn } from '../../../../../lambda/subjects/names/names.ts';

it('searches of one owner run one after the other, also after one that failed', async () => {
  const [owner, other] = [{}, {}];
  const steps: string[] = [];
  const run = (name: string) => async () => {
    steps.push(`${name} begins`);
    await new Promise((resolve) => setTimeout(resolve, 5));
    steps.push(`${name} ends`);
    if (name === 'b') throw new Error(name);
    return name;
  };
  const names = ['a', 'b', 'c'];
  const all = Promise.allSettled(names.map((name) => inTurn(owner, run(name))));
  expect(await inTurn(other, async () => [...steps])).toEqual(['a begins']);
  expect((await all).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(steps).toEqual(names.flatMap((name) => [`${name} begins`, `${name} ends`]));
});
