import { fileNameFault } from '../../../frame/access/rules/file-names.ts';

export const saveAsBytesMax = 255;

/** Why a text is no name to save a file by, to follow "must be". undefined: it is one. */
export function saveAsFault(name: string): string | undefined {
  if (name.includes('/') || new TextEncoder().encode(name).length > saveAsBytesMax)
    return `1 to ${saveAsBytesMax} bytes of UTF-8 without slashes`;
  return fileNameFault(name);
}
