import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { formatBytes } from '../../lambda/rules/sizes.ts';
import { StoreAnswerError } from '../../lambda/store/http-exchange.ts';
import { escapePath } from '../../lambda/store/signing.ts';
import { type Check, check, type Finding, fail, skipped, warning } from './check.ts';
import { describeOutcome, isAccepted, type Probe, type RawOutcome } from './probe.ts';

/** Does a request see what the one before it did? And does a delete delete? */
export const consistencyChecks: readonly Check[] = [
  isCurrent('head-after-put', {
    good: 'A HEAD sees an object as soon as it is uploaded',
    bad: 'a HEAD did not see an object that had just been uploaded',
    advice: "Don't use this store: git-lfs verifies the last upload of a batch, and would report it as lost.",
  }),
  isCurrent('list-after-put', {
    good: 'A listing has an object as soon as it is uploaded',
    bad: 'a listing lacked an object that had just been uploaded',
    advice: "Don't use this store: such objects aren't counted, so a tenant could exceed its limit.",
  }),
  isCurrent('head-after-delete', {
    good: "A HEAD doesn't find an object once it's deleted",
    bad: 'a HEAD still saw an object that had been deleted',
    advice: "Don't use this store: a push would skip such an object as already stored, and lose it.",
  }),
  isCurrent('list-after-delete', {
    good: 'A listing lacks an object once it is deleted',
    bad: 'a listing still had an object that had been deleted',
    advice: 'You can use the store, but deleted objects count until they disappear from listings.',
    isUsable: true,
  }),
  check('delete', 'lfs-quota repeats deletes: check that the key can delete.', async (probe) => {
    const key = probe.newKey();
    await probe.put(key, Buffer.from('x'));
    for (const [what, deleted] of [
      ['an object', key],
      ['an object that is already deleted', key],
      ['an object that never was', probe.newKey()],
    ] as const) {
      const why = await whyNotDeleted(probe, deleted);
      if (why !== undefined) return fail(`Deleting ${what} doesn't work: ${why}`);
      if (await probe.head(deleted))
        return fail(`After deleting ${what}, it still exists.`, "Don't use this store.");
    }
    return "A delete removes an object, and repeating it isn't an error.";
  }),
  // By one request, if the store knows DeleteObjects. Else by one for each.
  check('delete-many', 'Check that the key has the permission to delete.', async (probe) => {
    const keys = Array.from({ length: 3 }, () => probe.newKey());
    for (const key of keys) await probe.put(key, Buffer.from('many'));
    const why = await whyNotDeleted(probe, ...keys);
    if (why !== undefined) return fail(`Deleting several objects at once doesn't work: ${why}`);
    for (const key of keys)
      if (await probe.head(key))
        return fail(
          'The store reported that it deleted several objects, and one still exists.',
          "Don't use this store: usage would fall, but nothing is freed.",
        );
    return 'Several objects at once are deleted, and each is gone.';
  }),
];

const whyNotDeleted = (probe: Probe, ...keys: readonly string[]) =>
  probe.delete(...keys).then(
    () => undefined,
    (error: Error) => error.message,
  );

type Moment = 'head-after-put' | 'list-after-put' | 'head-after-delete' | 'list-after-delete';

/** The check that an answer is up to date in each round. */
function isCurrent(
  id: Moment,
  { good, bad, advice, isUsable = false }: { good: string; bad: string; advice: string; isUsable?: boolean },
): Check {
  return check(id, advice, async (probe) => {
    const rounds = probe.target.isThorough ? 50 : 10;
    const stale = await probe.once('stale answers', () => countStale(probe, rounds));
    if (stale[id] === 0) return `${good} (${rounds} of ${rounds}).`;
    return (isUsable ? warning : fail)(`In ${stale[id]} of ${rounds} rounds ${bad}.`);
  });
}

/** In how many rounds an answer was out of date. It looks before each change too: caches remember absence. */
async function countStale(probe: Probe, rounds: number): Promise<Record<Moment, number>> {
  const stale = { 'head-after-put': 0, 'list-after-put': 0, 'head-after-delete': 0, 'list-after-delete': 0 };
  const prefix = `${probe.newKey()}/`;
  for (let round = 0; round < rounds; round += 1) {
    const key = `${prefix}${round}`;
    const isListed = async () => (await probe.list({ prefix })).keys.some((listed) => listed.key === key);
    await probe.head(key);
    await isListed();
    await probe.put(key, Buffer.from('x'));
    if (!(await isListed())) stale['list-after-put'] += 1;
    if ((await probe.head(key)) === undefined) stale['head-after-put'] += 1;
    await probe.delete(key);
    if (await isListed()) stale['list-after-delete'] += 1;
    if ((await probe.head(key)) !== undefined) stale['head-after-delete'] += 1;
  }
  return stale;
}

/** S3's least size of a part that is not the last. */
const partBytes = 5 * 1024 * 1024;
const part = Buffer.alloc(partBytes, 'p');
const one = Buffer.from('x');

/** How large one PUT may be, and uploads in parts. The service works without, so nothing here can fail. */
export const largeChecks: readonly Check[] = [
  check('largest-upload', 'Check for a limit of a proxy in front of the store.', tryLargest),
  check('multipart', "Without it, exports don't work: set exports.workers to 0.", async (probe) => {
    const { why } = await wholeParts(probe);
    if (why === undefined) return 'A multipart upload of 5 MiB and one byte becomes one object.';
    return warning(`Multipart uploads don't work: ${why}.`);
  }),
  partRule('multipart-small', [Buffer.alloc(1024, 'p'), one], (why) =>
    why === undefined
      ? 'Parts of 1 KiB are accepted.'
      : 'Parts of 1 KiB are rejected, as on AWS: all but the last must have 5 MiB.',
  ),
  partRule('multipart-unequal', [part, Buffer.concat([part, one]), one], (why) => {
    if (why === undefined) return 'Parts can have different sizes.';
    return warning(`Parts of different sizes are rejected, as on R2: ${why}.`);
  }),
  partRule('copy-part', ['copy', one], (why) => {
    if (why === undefined) return 'A part can be copied from another object.';
    return warning(`A part can't be copied from another object: ${why}.`);
  }),
  // The last one, because a store that does not refuse it overwrites what the others copy.
  check('complete-absent', 'Files above 5 GiB need this. Smaller ones work without.', async (probe) => {
    const whole = await wholeParts(probe);
    if (whole.why !== undefined) return skipped("Multipart uploads aren't supported.");
    const { why } = await uploadParts(probe, [one], { over: whole.key });
    if (why === undefined) return warning('A multipart upload with If-None-Match overwrites an object.');
    if (why.startsWith('PreconditionFailed'))
      return 'A multipart upload with If-None-Match overwrites nothing.';
    return warning(`Multipart uploads with If-None-Match don't work: ${why}.`);
  }),
];

/** Halving ends here: a store that refuses this has another reason. */
const smallestBytes = 1024 * 1024;

/** A large upload is given up after this long without traffic: the store may read it all again, and answer then. */
const largeIdleMsMax = 600_000;

/** Uploads zeros: as many as was asked for, and half as many as long as the store refuses. */
async function tryLargest(probe: Probe): Promise<Finding> {
  const { largestBytes } = probe.target;
  if (largestBytes === undefined)
    return skipped('Uploads a large object: pass --largest SIZE, such as 5GiB.');
  const refused = await uploadZeros(probe, largestBytes);
  let size = largestBytes;
  for (let outcome = refused; !isAccepted(outcome); outcome = await uploadZeros(probe, size)) {
    size = Math.floor(size / 2);
    if (size < smallestBytes) break;
  }
  const found = `One PUT of ${formatBytes(largestBytes)} is rejected (${describeOutcome(refused)})`;
  if (size < smallestBytes && size < largestBytes) return warning(`${found}, and smaller ones as well.`);
  probe.facts.maxPutBytes = size;
  if (size === largestBytes) return `One PUT of ${formatBytes(size)} is accepted.`;
  return warning(
    `${found}, one of ${formatBytes(size)} accepted.`,
    `Set protocol.objectMaxMiB to ${Math.floor(size / 1024 ** 2)} or less. Larger files then get a clear error.`,
  );
}

async function uploadZeros(probe: Probe, sizeBytes: number): Promise<RawOutcome> {
  const key = probe.newKey();
  const hash = createHash('sha256');
  for (const piece of zeros(sizeBytes)) hash.update(piece);
  const { href, header } = await probe.signUpload({ key, oid: hash.digest('hex'), sizeBytes });
  probe.written.add(key);
  const headers = { ...header, 'content-length': `${sizeBytes}` };
  const body = Readable.from(zeros(sizeBytes), { objectMode: false });
  const outcome = await probe.sendRaw({ method: 'PUT', href, headers, body, idleMs: largeIdleMsMax });
  if (!isAccepted(outcome)) return outcome;
  const stored = await probe.head(key);
  // So large that it should not wait for the cleanup.
  await probe.delete(key);
  if (stored?.sizeBytes === sizeBytes) return outcome;
  return { kind: 'cut', reason: `stored ${stored?.sizeBytes ?? 'nothing'}` };
}

function* zeros(sizeBytes: number): Generator<Buffer> {
  const piece = Buffer.alloc(1024 * 1024);
  for (let left = sizeBytes; left > 0; left -= piece.length)
    yield left < piece.length ? piece.subarray(0, left) : piece;
}

/** The object of the first check, from which parts are copied. */
const wholeParts = (probe: Probe) => probe.once('parts', () => uploadParts(probe, [part, one]));

/** The check of an upload of other parts. `copy`: the first part of the first check's object. */
function partRule(
  id: string,
  parts: readonly (Buffer | 'copy')[],
  judge: (why: string | undefined) => Finding,
): Check {
  return check(id, "lfs-quota sends equal parts, and downloads what it can't copy.", async (probe) => {
    const whole = await wholeParts(probe);
    if (whole.why !== undefined) return skipped("Multipart uploads aren't supported.");
    return judge((await uploadParts(probe, parts, { copied: whole.key })).why);
  });
}

/**
 * Uploads an object in parts, and looks whether it has all of them. `why`: it has not.
 *
 * @param input.over a key at which there is an object, that must not be overwritten.
 */
async function uploadParts(
  probe: Probe,
  parts: readonly (Buffer | 'copy')[],
  { copied = '', over }: { copied?: string; over?: string } = {},
): Promise<{ key: string; why?: string }> {
  const key = over ?? probe.newKey();
  const where = { Bucket: probe.target.bucket, Key: key };
  const CopySource = `${where.Bucket}/${escapePath(copied)}`;
  const copy = { CopySource, CopySourceRange: `bytes=0-${partBytes - 1}` };
  probe.written.add(key);
  try {
    const { UploadId } = await probe.send((client) => client.send(new CreateMultipartUploadCommand(where)));
    if (UploadId === undefined) throw new Error('the response has no upload');
    probe.partUploads.set(UploadId, key);
    const Parts: CompletedPart[] = [];
    let sizeBytes = 0;
    for (const [index, source] of parts.entries()) {
      const at = { ...where, UploadId, PartNumber: index + 1 };
      const sent = await probe.send(async (client) => {
        if (source !== 'copy') return client.send(new UploadPartCommand({ ...at, Body: source }));
        const answer = await client.send(new UploadPartCopyCommand({ ...at, ...copy }));
        return { ...answer, ...answer.CopyPartResult };
      });
      Parts.push({ PartNumber: index + 1, ETag: sent.ETag });
      sizeBytes += source === 'copy' ? partBytes : source.length;
    }
    const complete = new CompleteMultipartUploadCommand({
      ...where,
      UploadId,
      MultipartUpload: { Parts },
      ...(over !== undefined && { IfNoneMatch: '*' }),
    });
    await probe.send((client) => client.send(complete));
    probe.partUploads.delete(UploadId);
    const stored = (await probe.head(key))?.sizeBytes;
    if (stored !== sizeBytes) throw new Error(`${stored ?? 'no'} bytes are stored instead of ${sizeBytes}`);
    return { key };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const code = error instanceof StoreAnswerError ? `${error.name}: ` : '';
    return { key, why: `${code}${error.message}`.slice(0, 200).replace(/\.$/, '') };
  }
}
