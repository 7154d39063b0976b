import { EntryReader } from './scan-entries.ts';
import { ScannedPage } from './scan-page.ts';
import { elementText, MalformedPageError } from './scan-xml.ts';

const contentsOpen = Buffer.from('<Contents>');
const resultOpen = '<ListBucketResult';
const resultClose = '</ListBucketResult>';

/**
 * Reads the bytes of a ListObjectsV2 answer for what a scan needs: the sizes, the number of keys, and where
 * the listing goes on. Keys stay bytes until they are asked for.
 *
 * The answer must be whole: its end tag is there, each entry has one key and one size, there are as many as
 * KeyCount says, and a token goes with IsTruncated. The order of the elements does not matter: AWS puts the
 * token before the entries, others after them.
 *
 * @throws {MalformedPageError} for anything else.
 */
export function readListPage(body: Buffer): ScannedPage {
  const end = endOfResult(body);
  const first = body.indexOf(contentsOpen);
  if (first < 0) return pageOf(body, { entries: undefined, around: body.toString('latin1', 0, end) });

  const head = body.toString('latin1', 0, first);
  const read = (isPredicting: boolean) => {
    const entries = new EntryReader(body, { end, isPredicting });
    const around = head + body.toString('latin1', entries.readAll(first), end);
    return { entries, around };
  };
  const predicted = read(true);
  // Entries of very different lengths may hide one another from a prediction, but then some are missing.
  const isComplete = elementText(predicted.around, 'KeyCount') === String(predicted.entries.count);
  return pageOf(body, isComplete ? predicted : read(false));
}

function pageOf(body: Buffer, read: { entries: EntryReader | undefined; around: string }): ScannedPage {
  const { entries, around } = read;
  if (!around.includes(resultOpen)) throw new MalformedPageError('The answer is no ListBucketResult.');
  if (around.includes('<Contents')) throw new MalformedPageError('A page holds an entry that is not whole.');
  const keyCount = elementText(around, 'KeyCount');
  if (keyCount === undefined) {
    throw new MalformedPageError('The answer has no KeyCount: the store does not speak ListObjectsV2.');
  }
  const found = entries?.count ?? 0;
  if (keyCount !== String(found)) {
    throw new MalformedPageError(`A page says that it has ${keyCount} keys, but holds ${found}.`);
  }
  const isTruncated = elementText(around, 'IsTruncated');
  const token = elementText(around, 'NextContinuationToken') || undefined;
  if (isTruncated !== (token === undefined ? 'false' : 'true')) {
    throw new MalformedPageError(`A page says IsTruncated "${isTruncated}", which its token contradicts.`);
  }
  return new ScannedPage({
    body,
    keyStarts: entries?.keyStarts ?? new Uint32Array(),
    sizes: entries?.sizes ?? new Float64Array(),
    totalBytes: entries?.totalBytes ?? 0,
    isUrlEncoded: elementText(around, 'EncodingType') === 'url',
    nextContinuationToken: token,
  });
}

/** Where the end tag begins. Without it the body was cut. */
function endOfResult(body: Buffer): number {
  let end = body.length;
  while (end > 0 && (body[end - 1] ?? 0) <= 0x20) end -= 1;
  const start = end - resultClose.length;
  if (start < 0 || body.toString('latin1', start, end) !== resultClose) {
    throw new MalformedPageError('A page was cut: its end tag is missing.');
  }
  return start;
}
