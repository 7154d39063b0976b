import { expect, it } from 'vitest';
import { startExportBody } from '../../../../../lambda/subjects/exports/contract.ts';
import { readsOf } from '../../../../support/worst-bodies.ts';

it('a list is read up to its first wrong element, and a right one twice', () => {
  const oid = (index: number) => index.toString(16).padStart(64, '0');
  const objects = Array.from({ length: 14_000 }, (_, index) => ({ oid: oid(index) }));
  const right = readsOf(startExportBody, { objects });
  expect(right).toBeLessThan(20 * objects.length);
  expect(readsOf(startExportBody, { objects: [...objects.slice(0, 10), {}, ...objects] })).toBeLessThan(500);
});

it("the repo's name may end with .git", () => {
  expect(startExportBody.parse({ repo: 'game.git' }).repo).toBe('game');
});
