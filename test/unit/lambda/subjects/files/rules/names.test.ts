import { expect, it } from 'vitest';
import { saveAsFault } from '../../../../../../lambda/subjects/files/rules/names.ts';

it('is a name without slashes by which a browser saves a file', () => {
  for (const name of ['a.png', 'ä "b"; c=\'d\'', 'x'.repeat(255)]) expect(saveAsFault(name)).toBeUndefined();
  for (const name of ['a/b', 'x'.repeat(256)]) expect(saveAsFault(name)).toMatch(/255 bytes .* slashes/);
  expect(saveAsFault('a\nb')).toMatch(/control/);
});
