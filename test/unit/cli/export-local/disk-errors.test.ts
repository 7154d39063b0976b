import { describe, expect, it } from 'vitest';
import { CliError } from '../../../../cli/errors.ts';
import { ArchiveWriteError, explainDiskError } from '../../../../cli/export-local/archive.ts';

const withCode = (code: string) => Object.assign(new Error(`${code}: no`), { code });

describe('an error of the disk', () => {
  it.each([
    ['ENOSPC', /disk is full.*call it again: it goes on/],
    ['EDQUOT', /quota/],
    ['EFBIG', /no file of that size/],
    ['EROFS', /may not be written/],
    ['EACCES', /may not be written/],
    ['EIO', /another file/],
  ])('%s says what to do, also as the cause of what could not be written', (code, hint) => {
    for (const error of [withCode(code), new ArchiveWriteError(withCode(code))]) {
      const explained = explainDiskError(error, 'all.tar');
      expect(explained).toBeInstanceOf(CliError);
      expect(explained).toMatchObject({ message: `all.tar cannot be written (${code}).`, cause: error });
      expect((explained as CliError).hint).toMatch(hint);
    }
  });

  it('is none if it is a bug, or explained already', () => {
    for (const error of [
      new TypeError('x'),
      withCode('ERR_INVALID_ARG_TYPE'),
      new CliError('known', { hint: 'Do.' }),
      5,
    ])
      expect(explainDiskError(error, 'all.tar')).toBe(error);
  });
});
