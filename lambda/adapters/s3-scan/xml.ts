/** The little XML that the page reader needs: text of single elements, and keys. */

/** The bytes are no whole, well-formed page: it is to be fetched again. */
export class MalformedPageError extends Error {
  override readonly name = 'MalformedPageError';
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** @throws {MalformedPageError} for an entity that XML does not know. */
function unescapeXml(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&([^;&]*);?/g, (whole, name: string) => {
    if (!whole.endsWith(';')) throw new MalformedPageError('A page holds an "&" that begins no entity.');
    const code = name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    const known = entities[name];
    if (known !== undefined) return known;
    if (!name.startsWith('#') || !(code >= 0 && code <= 0x10ffff)) {
      throw new MalformedPageError(`A page holds the unknown entity "&${name};".`);
    }
    return String.fromCodePoint(code);
  });
}

/**
 * A key as it stands in a page. With `encoding-type=url` a space is `+` or `%20`, and a plus always `%2B`.
 *
 * @throws {MalformedPageError} where the text is no encoding of a key.
 */
export function decodeListedKey(text: string, { isUrlEncoded }: { isUrlEncoded: boolean }): string {
  const key = unescapeXml(text);
  if (!isUrlEncoded) return key;
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch (cause) {
    throw new MalformedPageError('A page holds a key that is not URL-encoded, though it says so.', { cause });
  }
}

/**
 * The text of the only element of that name, or undefined where there is none.
 *
 * @throws {MalformedPageError} where there are two, or its end is missing.
 */
export function elementText(xml: string, name: string): string | undefined {
  const open = `<${name}>`;
  const start = xml.indexOf(open);
  if (start < 0) return undefined;
  const end = xml.indexOf('<', start + open.length);
  if (end < 0 || !xml.startsWith(`</${name}>`, end) || xml.includes(open, end)) {
    throw new MalformedPageError(`A page holds a broken <${name}>.`);
  }
  return unescapeXml(xml.slice(start + open.length, end));
}
