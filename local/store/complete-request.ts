import { type ChecksumName, type Checksums, checksumNames } from './checksums.ts';
import { childText, malformed, readXml, type XmlElement } from './xml-reader.ts';

/** A part as the request to complete an upload lists it. */
export interface ListedPart {
  readonly partNumber: number;
  /** Without quotes. */
  readonly etag: string;
  readonly checksums: Checksums;
}

/** Largest number of a part, and so of parts. */
export const partNumberMax = 10_000;

/** The body of CompleteMultipartUpload. @throws {S3Error} MalformedXML */
export function readCompleteRequest(xml: string): readonly ListedPart[] {
  const root = readXml(xml);
  const parts = root.children.filter(({ name }) => name === 'Part');
  if (root.name !== 'CompleteMultipartUpload' || parts.length === 0 || parts.length > partNumberMax)
    throw malformed();
  return parts.map(readPart);
}

function readPart(part: XmlElement): ListedPart {
  const number = childText(part, 'PartNumber') ?? '';
  const etag = childText(part, 'ETag');
  if (!/^\d{1,9}$/.test(number) || etag === undefined) throw malformed();
  const checksums: Partial<Record<ChecksumName, string>> = {};
  for (const name of checksumNames) {
    const value = childText(part, `Checksum${name.toUpperCase()}`);
    if (value !== undefined) checksums[name] = value;
  }
  return { partNumber: Number(number), etag: etag.replaceAll('"', ''), checksums };
}
