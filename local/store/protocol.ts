import type { Readable } from 'node:stream';

/** What S3 says, and what clients say to it in XML: errors, replies, elements. */

export interface StoreReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Readable;
}

/**
 * Statuses of S3's error codes, if not 400: docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html. S3 has none for
 * a full disk, so `InsufficientStorage` is the name of its status (RFC 4918). `SlowDown` is 429, which git-lfs retries
 * when it is told to.
 */
const statusByCode: Readonly<Record<string, number>> = {
  AccessDenied: 403,
  InsufficientStorage: 507,
  InternalError: 500,
  InvalidAccessKeyId: 403,
  InvalidRange: 416,
  MissingContentLength: 411,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NotImplemented: 501,
  PreconditionFailed: 412,
  RequestTimeTooSkewed: 403,
  SignatureDoesNotMatch: 403,
  SlowDown: 429,
};

/** An error response with S3's code and status. The message reaches the client. */
export class S3Error extends Error {
  override readonly name = 'S3Error';
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
    this.status = statusByCode[code] ?? 400;
  }
}

/** The error for what the store doesn't support. It names it, so that silence is never taken for support. */
export function notImplemented(what: string): S3Error {
  const advice =
    'It serves git-lfs and lfs-quota only; an SDK needs AWS_REQUEST_CHECKSUM_CALCULATION=when_required. ' +
    'For other S3 clients, use a general store (docs/deploy.md#choose-a-store).';
  return new S3Error('NotImplemented', `This store doesn't implement ${what}. ${advice}`);
}

function malformedXml(): S3Error {
  const text = "The XML you provided wasn't well-formed or didn't validate against our published schema.";
  return new S3Error('MalformedXML', text);
}

/** A response with these elements in a root element. */
export function xmlReply(
  root: string,
  elements: readonly string[],
  options: { status?: number; headers?: Readonly<Record<string, string>> } = {},
): StoreReply {
  const namespace = root === 'Error' ? '' : ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${namespace}>${elements.join('')}</${root}>`;
  const lengthBytes = String(Buffer.byteLength(body));
  const headers = { 'content-type': 'application/xml', 'content-length': lengthBytes, ...options.headers };
  return { status: options.status ?? 200, headers, body };
}

/** `<name>text</name>`, or '' for undefined. */
export function element(name: string, text: string | number | boolean | undefined): string {
  return text === undefined ? '' : `<${name}>${escapeXml(String(text))}</${name}>`;
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Text that needs no escaping, as nearly all keys. The test is cheap, and a listing has thousands of keys. */
const plain = /^[\w./~+%: -]*$/;

/** Text as XML content. Control characters become numeric references, as S3 writes them. */
function escapeXml(text: string): string {
  if (plain.test(text)) return text;
  return text.replace(
    /[&<>"]|[^\P{Cc}\t]/gu,
    (char) => escapes[char] ?? `&#x${(char.codePointAt(0) ?? 0).toString(16).toUpperCase()};`,
  );
}

/**
 * Reads a list of items, in the little XML that clients send: no element is within another one of its name. Declarations
 * of types and entities are refused.
 *
 * @param what.fields each item has each of them once. An element that isn't named here is refused, not ignored.
 * @returns the texts of each item's fields, in their order.
 * @throws {S3Error} MalformedXML, NotImplemented
 */
export function readItems(
  xml: string,
  what: { root: string; item: string; itemsMax: number; fields: readonly string[] },
): readonly (readonly string[])[] {
  const [root, ...more] = elementsOf(xml.replace(/^\ufeff?\s*<\?xml[^>]*\?>/, ''));
  if (root?.name !== what.root || more.length > 0) throw malformedXml();
  const items = elementsOf(root.inner, [what.item]);
  if (items.length === 0 || items.length > what.itemsMax) throw malformedXml();
  return items.map(({ inner }) => {
    const found = elementsOf(inner, what.fields);
    return what.fields.map((field) => textOf(found.filter(({ name }) => name === field)));
  });
}

interface XmlElement {
  readonly name: string;
  readonly inner: string;
}

function elementsOf(xml: string, served?: readonly string[]): readonly XmlElement[] {
  const found: XmlElement[] = [];
  let readChars = 0;
  for (const [token, name, inner = ''] of xml.matchAll(
    /\s+|<([\w.-]+)(?:\s[^<>]*?)?(?:\/>|>(.*?)<\/\1>)/gsy,
  )) {
    readChars += token.length;
    if (name !== undefined) found.push({ name, inner });
  }
  if (readChars !== xml.length) throw malformedXml();
  const other = found.find(({ name }) => served?.includes(name) === false);
  if (other !== undefined) throw notImplemented(`the XML element ${other.name.slice(0, 100)}`);
  return found;
}

function textOf([element, ...more]: readonly XmlElement[]): string {
  if (element === undefined || more.length > 0 || element.inner.includes('<')) throw malformedXml();
  return element.inner.replaceAll(/&([^;]*;?)/g, (_whole, reference: string) => {
    const [, hex, decimal] = /^#(?:x([\da-fA-F]{1,6})|(\d{1,7}));$/.exec(reference) ?? [];
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    const char = Number.isNaN(code) || code > 0x10ffff ? entities.get(reference) : String.fromCodePoint(code);
    if (char === undefined) throw malformedXml();
    return char;
  });
}

const entities: ReadonlyMap<string, string> = new Map([
  ['lt;', '<'],
  ['gt;', '>'],
  ['amp;', '&'],
  ['quot;', '"'],
  ['apos;', "'"],
]);
