/** The XML that the page reader needs: the text of single elements, and keys. */

/** The bytes are not a complete, well-formed page. It must be fetched again. */
export class MalformedPageError extends Error {
  override readonly name = 'MalformedPageError';
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** @throws {MalformedPageError} when the text contains an entity that XML does not define. */
function unescapeXml(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&([^;&]*);?/g, (whole, name: string) => {
    if (!whole.endsWith(';'))
      throw new MalformedPageError('The page contains an "&" that does not begin an entity.');
    const code = name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    const known = entities[name];
    if (known !== undefined) return known;
    if (!name.startsWith('#') || !(code >= 0 && code <= 0x10ffff)) {
      throw new MalformedPageError(`The page contains the unknown entity "&${name};".`);
    }
    return String.fromCodePoint(code);
  });
}

/**
 * Decodes a key of a page. With `encoding-type=url` a space is `+` or `%20`, and a plus is always `%2B`.
 *
 * @throws {MalformedPageError} when the text is not an encoded key.
 */
export function decodeListedKey(text: string, { isUrlEncoded }: { isUrlEncoded: boolean }): string {
  const key = unescapeXml(text);
  if (!isUrlEncoded) return key;
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch (cause) {
    throw new MalformedPageError(
      'The page contains a key that is not URL-encoded, although its EncodingType is url.',
      { cause },
    );
  }
}

/**
 * The text of the only element with this name, or undefined if there is none.
 *
 * @throws {MalformedPageError} when there are two, or the end tag is missing.
 */
export function elementText(xml: string, name: string): string | undefined {
  const open = `<${name}>`;
  const start = xml.indexOf(open);
  if (start < 0) return undefined;
  const end = xml.indexOf('<', start + open.length);
  if (end < 0 || !xml.startsWith(`</${name}>`, end) || xml.includes(open, end)) {
    throw new MalformedPageError(`The page contains a malformed <${name}>.`);
  }
  return unescapeXml(xml.slice(start + open.length, end));
}
