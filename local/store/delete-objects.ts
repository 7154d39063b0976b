import type { OperationInput } from './operation.ts';
import { readXmlBody } from './read-xml-body.ts';
import { type StoreReply, xmlReply } from './reply.ts';
import { notImplemented, S3Error } from './s3-error.ts';
import { keyBytesMax } from './store-request.ts';
import { element } from './xml.ts';
import { childText, malformed, readXml } from './xml-reader.ts';

/** Keys of one request, as on S3. */
const deletedKeysMax = 1000;

/**
 * DeleteObjects: docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html. Each key is deleted as by DELETE, and
 * may fail for itself.
 *
 * @throws {S3Error} MalformedXML, BadDigest, NotImplemented, MaxMessageLengthExceeded
 */
export async function deleteObjects(input: OperationInput): Promise<StoreReply> {
  const { keys, isQuiet } = readDeleteRequest(await readXmlBody(input));
  const tooLong = keys.filter((key) => Buffer.byteLength(key) > keyBytesMax);
  const failed = await input.files.delete(keys.filter((key) => !tooLong.includes(key)));
  const errors = new Map([...failed].map(([key, thrown]) => [key, input.errorOf(thrown)]));
  for (const key of tooLong)
    errors.set(key, new S3Error('KeyTooLongError', `A key has at most ${keyBytesMax} bytes.`));
  const results = keys.map((key) => {
    const error = errors.get(key);
    if (error === undefined) return isQuiet ? '' : `<Deleted>${element('Key', key)}</Deleted>`;
    const why = element('Code', error.code) + element('Message', error.message);
    return `<Error>${element('Key', key)}${why}</Error>`;
  });
  return xmlReply(
    `<DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${results.join('')}</DeleteResult>`,
  );
}

function readDeleteRequest(xml: string): { keys: readonly string[]; isQuiet: boolean } {
  const root = readXml(xml);
  const objects = root.children.filter(({ name }) => name === 'Object');
  if (root.name !== 'Delete' || objects.length === 0 || objects.length > deletedKeysMax) throw malformed();
  const keys = objects.map(({ children }) => {
    const other = children.find(({ name }) => name !== 'Key');
    if (other !== undefined) throw notImplemented(`${other.name.slice(0, 100)} in DeleteObjects`);
    const [key, ...more] = children;
    if (key === undefined || key.text === '' || more.length > 0) throw malformed();
    return key.text;
  });
  return { keys: [...new Set(keys)], isQuiet: childText(root, 'Quiet') === 'true' };
}
