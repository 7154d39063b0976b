import { MalformedAnswerError } from './http-exchange.ts';

/** The XML that the page reader needs: the text of single elements, and keys. */

/** The bytes are not a complete, well-formed page. It must be fetched again. */
export class MalformedPageError extends MalformedAnswerError {
  override readonly name = 'MalformedPageError';
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The text of whole characters. A character that was replaced would make a key or a token name another place of the
 * listing.
 *
 * @throws {MalformedPageError} when the bytes are not UTF-8.
 */
export function utf8Text(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  // What is not UTF-8 became U+FFFD. Only then the strict decoder, which is slower, has to look.
  if (!text.includes('\ufffd')) return text;
  try {
    return strictUtf8.decode(bytes);
  } catch (cause) {
    throw new MalformedPageError("The page contains bytes that aren't UTF-8.", { cause });
  }
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** @throws {MalformedPageError} when the text contains an entity that stands for no character. */
export function unescapeXml(text: string): string {
  if (!text.includes('&')) return text;
  const unescaped = text.replace(/&([^;&]*);?/g, (whole, name: string) => {
    if (!whole.endsWith(';')) throw new MalformedPageError('The page contains an "&" that starts no entity.');
    const code = codePointOf(name);
    const known = entities[name];
    if (known !== undefined) return known;
    if (!(code >= 0 && code <= 0x10ffff)) {
      throw new MalformedPageError(`The page contains the unknown entity "&${name};".`);
    }
    return String.fromCodePoint(code);
  });
  // Half a surrogate pair can't be sent back to the store.
  if (/\p{Surrogate}/u.test(unescaped)) throw new MalformedPageError('The page contains half a character.');
  return unescaped;
}

/** The number in the name of an entity such as `#252` or `#xfc`. NaN if there is none. */
function codePointOf(name: string): number {
  const [, hex, decimal] = /^#(?:x([\da-f]+)|(\d+))$/i.exec(name) ?? [];
  return hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
}

/**
 * Decodes a key of a page. With `encoding-type=url` a space is `+` or `%20`, and a plus is always `%2B`.
 *
 * @throws {MalformedPageError} when the text is not an encoded key.
 */
export function decodeListedKey(text: string, { isUrlEncoded }: { isUrlEncoded: boolean }): string {
  const key = unescapeXml(text);
  // Nearly all keys have nothing to decode.
  if (!isUrlEncoded || !(key.includes('%') || key.includes('+'))) return key;
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch (cause) {
    throw new MalformedPageError(
      "The page contains a key that isn't URL-encoded, although its EncodingType is url.",
      { cause },
    );
  }
}

/**
 * The text of the only element with this name, still escaped, or undefined if there is none.
 *
 * @throws {MalformedPageError} when there are two, or the end tag is missing.
 */
export function escapedText(xml: string, name: string): string | undefined {
  const open = `<${name}>`;
  const start = xml.indexOf(open);
  if (start < 0) return undefined;
  const end = xml.indexOf('<', start + open.length);
  if (end < 0 || !xml.startsWith(`</${name}>`, end) || xml.includes(open, end)) {
    throw new MalformedPageError(`The page contains a malformed <${name}>.`);
  }
  return xml.slice(start + open.length, end);
}

/** The same, unescaped. @throws {MalformedPageError} */
export function elementText(xml: string, name: string): string | undefined {
  const text = escapedText(xml, name);
  return text === undefined ? undefined : unescapeXml(text);
}
