import { S3Error } from './s3-error.ts';

/** An element of a request's XML, without its attributes. */
export interface XmlElement {
  /** Without its namespace's prefix. */
  readonly name: string;
  readonly children: XmlElement[];
  /** What stands between the tags, if that is text alone. */
  text: string;
}

/** Elements within each other. */
const depthMax = 8;

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/**
 * Reads the little XML that clients send: elements and text. Declarations of types and entities are refused.
 *
 * @returns the outermost element.
 * @throws {S3Error} MalformedXML
 */
export function readXml(xml: string): XmlElement {
  const top: XmlElement = { name: '', children: [], text: '' };
  const open = [top];
  const rest = xml.replace(/^\ufeff?\s*<\?xml[^>]*\?>/, '').replaceAll(/<!--[\s\S]*?-->/g, '');
  let readChars = 0;
  for (const [token, slash = '', name, isEmpty, text] of rest.matchAll(
    /<(\/?)(?:[\w.-]+:)?([\w.-]+)(?:\s[^<>]*?)?(\/?)>|([^<]+)/g,
  )) {
    readChars += token.length;
    const current = open.at(-1) ?? top;
    if (text !== undefined) {
      current.text += unescapeXml(text);
    } else if (slash === '/') {
      if (current.name !== name || open.length === 1) throw malformed();
      open.pop();
    } else {
      const element: XmlElement = { name: name ?? '', children: [], text: '' };
      current.children.push(element);
      if (isEmpty !== '/') open.push(element);
      if (open.length > depthMax) throw malformed();
    }
  }
  const [root, ...more] = top.children;
  if (readChars !== rest.length || open.length !== 1 || top.text.trim() !== '') throw malformed();
  if (root === undefined || more.length > 0) throw malformed();
  return root;
}

/** The text of the only child of this name. @throws {S3Error} MalformedXML if there are several. */
export function childText({ children }: XmlElement, name: string): string | undefined {
  const [found, ...more] = children.filter((child) => child.name === name);
  if (more.length > 0) throw malformed();
  return found?.text.trim();
}

export function malformed(): S3Error {
  const text = 'The XML you provided was not well-formed or did not validate against our published schema.';
  return new S3Error('MalformedXML', text);
}

function unescapeXml(text: string): string {
  return text.replaceAll(/&([^;]*;?)/g, (_whole, reference: string) => {
    const name = reference.slice(0, -1);
    const [, hex, decimal] = /^#(?:x([\da-fA-F]{1,6})|(\d{1,7}))$/.exec(name) ?? [];
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    const char = Number.isNaN(code) || code > 0x10ffff ? entities[name] : String.fromCodePoint(code);
    if (!reference.endsWith(';') || char === undefined) throw malformed();
    return char;
  });
}
