import { expect, it } from 'vitest';
import { history } from '../../../../local/history/usage-files.ts';
import { readOptions } from '../../../../local/options.ts';
import { memoryDeps } from '../../../support/memory/deps.ts';

it('writes files of usage to the server’s own store if an option says so', () => {
  const { listing, store, archives } = memoryDeps({});
  const files = { listing, store, archives };
  const made = (given: object) => history.create({ ...files, ...readOptions(given) });
  expect(made({})).toEqual({});
  expect(made({ usageFiles: true }).usageFiles).toMatchObject(files);
});
