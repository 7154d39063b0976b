/** UTF-8 bytes of a file's name, at most. A key of S3 has up to 1,024, and tenant and repo take 142 of them. */
export const fileNameBytesMax = 800;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what isn't taken.
const notInFileNames = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufffe\uffff\\]|\p{Cs}/u;

/** Whether a text has none of what no name has. */
export const isPrintable = (text: string) => !notInFileNames.test(text);

/**
 * Why a text is no name of a file, to follow "must be". undefined: it is one.
 *
 * What looks the same is one name, and no client or proxy makes another one of it. No name is one that a map of the code or
 * the table loses (`__proto__`).
 */
export function fileNameFault(name: string): string | undefined {
  const byteCount = Buffer.byteLength(name);
  if (byteCount === 0 || byteCount > fileNameBytesMax) return `1 to ${fileNameBytesMax} bytes of UTF-8`;
  if (!isPrintable(name)) return 'without control characters, backslashes and lone surrogates';
  // ASCII is in it.
  if (byteCount > name.length && name !== name.normalize('NFC')) return 'in Unicode form NFC';
  if (/(^|\/)\.{0,2}(\/|$)/.test(name)) return 'without empty, . or .. segments';
  if (/(^|\/)[_\s]|[\s.](\/|$)/.test(name))
    return 'without segments that start with _ or a space, or end with a space or a dot';
  return undefined;
}

/** Whether names can begin with a text. All begin with none. */
export const isFilePrefix = (text: string) =>
  text === '' || [text, `${text}x`].some((name) => fileNameFault(name) === undefined);
