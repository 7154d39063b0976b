import { isPrintable } from '../../../frame/access/rules/file-names.ts';

export const saveAsBytesMax = 255;

/** Why a text is no name to save a file by, to follow "must be". What people call their files is no name that a store has. */
export function saveAsFault(name: string): string | undefined {
  const byteCount = Buffer.byteLength(name);
  return byteCount === 0 || byteCount > saveAsBytesMax || name.includes('/') || !isPrintable(name)
    ? `1 to ${saveAsBytesMax} bytes of UTF-8 without slashes, backslashes, control characters and lone surrogates`
    : undefined;
}
