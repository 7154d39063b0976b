/** The little XML that S3's responses need. */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

/** Text that needs no escaping, as nearly all keys. The test is cheap, and a listing has thousands of keys. */
const plain = /^[\w./~+%: -]*$/;

/** Text as XML content. Control characters become numeric references, as S3 writes them. */
function escapeXml(text: string): string {
  if (plain.test(text)) return text;
  return text.replace(
    /[&<>"]|[^\P{Cc}\t]/gu,
    (char) => entities[char] ?? `&#x${(char.codePointAt(0) ?? 0).toString(16).toUpperCase()};`,
  );
}

/** `<name>text</name>`, or '' for undefined. */
export function element(name: string, text: string | number | boolean | undefined): string {
  return text === undefined ? '' : `<${name}>${escapeXml(String(text))}</${name}>`;
}

export const xmlDeclaration = '<?xml version="1.0" encoding="UTF-8"?>\n';
