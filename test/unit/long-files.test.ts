import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { longFiles } from '../support/long-files-first.ts';

it('every file that is to begin first is there', () => {
  expect(longFiles.filter((file) => !existsSync(file))).toEqual([]);
});
