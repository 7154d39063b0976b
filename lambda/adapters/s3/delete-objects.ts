import { hash } from 'node:crypto';
import { errorIn, MalformedAnswerError, StoreAnswerError, TextReader } from './answers.ts';
import type { AnswerReader } from './exchange.ts';
import { unescapeXml } from './xml.ts';

/** DeleteObjects: many keys in one request, of which each may fail. */

/** Keys of one request, at most. */
export const keysPerDelete = 1000;

/** A thousand of the longest keys, each character escaped, with a message each. */
const answerBytesMax = 8 * 1024 ** 2;

/** What the answer says of the keys that it names. */
export interface DeletedKeys {
  readonly deleted: ReadonlySet<string>;
  readonly failed: ReadonlyMap<string, { readonly code: string; readonly message: string | undefined }>;
}

/** Whether the text of an XML document can have the key. Some control characters have no way into one. */
export function isXmlText(key: string): boolean {
  return !notXml.test(key);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that XML can't have.
const notXml = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/u;

/** What to send. S3 wants the MD5, and it's the one checksum that every compatible store knows. */
export function deleteRequest(keys: readonly string[]) {
  const objects = keys.map((key) => `<Object><Key>${escapeXml(key)}</Key></Object>`).join('');
  const body = `<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${objects}</Delete>`;
  const headers = { 'content-md5': hash('md5', body, 'base64'), 'content-type': 'application/xml' };
  return { method: 'POST', query: { delete: '' }, headers, body } as const;
}

function escapeXml(text: string): string {
  // A parser makes an unescaped line break another one.
  return text.replace(/[&<>"\t\n\r]/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** Reads the answer, or throws the error that S3 may send with status 200. */
export function deletedReader(): AnswerReader<DeletedKeys> {
  return new TextReader(answerBytesMax, (text) => {
    if (!/<DeleteResult[\s>/]/.test(text)) {
      const { code, message } = errorIn(text);
      if (code !== undefined) throw new StoreAnswerError({ status: 503, code, message });
      throw new MalformedAnswerError("The answer isn't a DeleteResult.");
    }
    // S3 begins to answer before it has deleted them. Node hears of no cut if the answer has neither length nor chunks.
    if (!/(<\/DeleteResult|<DeleteResult[^>]*\/)>\s*$/.test(text))
      throw new StoreAnswerError({ status: 503, code: 'IncompleteAnswer', message: 'The answer was cut.' });
    const deleted = new Set<string>();
    const failed = new Map<string, { code: string; message: string | undefined }>();
    for (const [, name, inner = ''] of text.matchAll(/<(Deleted|Error)>(.*?)<\/\1>/gs)) {
      const key = /<Key>([^<]*)<\/Key>/.exec(inner)?.[1];
      if (key === undefined) throw new MalformedAnswerError('The answer has a key without a name.');
      if (name === 'Deleted') deleted.add(unescapeXml(key));
      else {
        const { code = 'Unknown', message } = errorIn(`<Error>${inner}`);
        failed.set(unescapeXml(key), { code, message });
      }
    }
    return { deleted, failed };
  });
}
