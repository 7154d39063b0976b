/** The little XML that S3's answers need. */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

/** What nearly every text is made of: a listing has thousands of keys, and this test is cheap. */
const plain = /^[\w./~+%: -]*$/;

/** Text as XML content. Control characters become numeric references, as S3 writes them. */
function escapeXml(text: string): string {
  if (plain.test(text)) return text;
  return text.replace(
    /[&<>"]|[^\P{Cc}\t]/gu,
    (char) => entities[char] ?? `&#x${(char.codePointAt(0) ?? 0).toString(16).toUpperCase()};`,
  );
}

/** `<name>text</name>`, or nothing where there is no text to write. */
export function element(name: string, text: string | number | boolean | undefined): string {
  return text === undefined ? '' : `<${name}>${escapeXml(String(text))}</${name}>`;
}

export const xmlDeclaration = '<?xml version="1.0" encoding="UTF-8"?>\n';
