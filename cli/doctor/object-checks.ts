import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { allPages } from '../../lambda/core/rules/async.ts';
import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import {
  ObjectExistsError,
  SourceGoneError,
  type SourceObject,
  type UploadedPart,
} from '../../lambda/core/store/rules/archive-store.ts';
import { type Check, check, type Finding, fail, skipped, warning } from './check.ts';
import { describeError, describeOutcome, isAccepted, type Probe, type RawOutcome } from './probe.ts';

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
const many = Buffer.from('The bytes of a file.');
/** Of nothing that doctor stores. */
const otherEtag = `"${'0'.repeat(32)}"`;
const noExports = "Without it, exports don't work: set exports.workers to 0.";
const equalParts = "lfs-quota sends equal parts, and downloads what it can't copy.";
const noCopies =
  "lfs-quota then downloads what it can't copy: deploy with this profile (objectStore.profile).";
const noChunks = 'Files above 5 GiB need this. Smaller ones work without.';

/** How large one PUT may be, and what archives are made by. The service works without, so nothing here can fail. */
export const largeChecks: readonly Check[] = [
  check('largest-upload', 'Check for a limit of a proxy in front of the store.', tryLargest),
  check('files', noExports, tryFiles),
  check('multipart', noExports, async (probe) => {
    const { why } = await wholeParts(probe);
    if (why === undefined) return 'A multipart upload of 5 MiB and one byte becomes one object.';
    return warning(`Multipart uploads don't work: ${why}.`);
  }),
  partsCheck('multipart-small', equalParts, async (probe) => {
    const { why } = await uploadParts(probe, [Buffer.alloc(1024, 'p'), one]);
    if (why === undefined) return 'Parts of 1 KiB are accepted.';
    return 'Parts of 1 KiB are rejected, as on AWS: all but the last must have 5 MiB.';
  }),
  partsCheck('multipart-unequal', equalParts, async (probe) => {
    const { why } = await uploadParts(probe, [part, Buffer.concat([part, one]), one]);
    if (why === undefined) return 'Parts can have different sizes.';
    return warning(`Parts of different sizes are rejected, as on R2: ${why}.`);
  }),
  partsCheck('copy-part', noCopies, async (probe, copied) => {
    const { why } = await uploadParts(probe, ['range', 'whole'], { copied });
    if (why !== undefined) return warning(`A part can't be copied from an object as it was listed: ${why}.`);
    const stale = await uploadParts(probe, ['range', one], { copied: { ...copied, etag: otherEtag } });
    if (stale.error instanceof SourceGoneError)
      return 'A part is copied from another object, only in the version that was listed.';
    return warning(`A part is copied from an object with another ETag: ${stale.why ?? 'no error'}.`);
  }),
  partsCheck('copy-crc32', "Report it to the store's vendor.", async (probe, source) => {
    const told = await crc32OfCopy(probe, source).catch(() => undefined);
    if (told === undefined) return "A copy doesn't return a CRC-32. lfs-quota only needs it on AWS.";
    if (told === crc32(one, crc32(part))) return 'A copy returns the CRC-32 of its bytes.';
    return warning('A copy returns another CRC-32 than that of its bytes.');
  }),
  // The last one, because a store that does not refuse it overwrites what the others copy.
  partsCheck('complete-absent', noChunks, async (probe, { key }) => {
    const { why } = await uploadParts(probe, [one], { ifAbsent: true });
    if (why !== undefined) return warning(`Multipart uploads with If-None-Match don't work: ${why}.`);
    const again = await uploadParts(probe, [one], { ifAbsent: true, key });
    if (again.error instanceof ObjectExistsError)
      return 'A multipart upload with If-None-Match overwrites nothing.';
    return warning(`A multipart upload with If-None-Match overwrites an object: ${again.why ?? 'no error'}.`);
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
    return skipped('Uploads a large object: lfs-quota doctor --largest SIZE, such as 5GiB.');
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

/** Writes, reads, lists and deletes a file as exports do, and reads it in another version than it has. */
async function tryFiles(probe: Probe): Promise<Finding> {
  const { archives, files } = probe;
  const key = probe.newKey();
  probe.written.add(key);
  const etags = {
    PUT: (await archives.putSource(key, many)).etag,
    LIST: (await probe.list({ prefix: key })).keys[0]?.etag,
    HEAD: (await archives.head(key))?.etag,
  };
  if (new Set(Object.values(etags)).size > 1)
    return warning(`The ETags of an object differ: ${JSON.stringify(etags)}.`);
  const read = Buffer.alloc(10);
  const range = { startByte: 5, endByte: 15 };
  await archives.readInto({ key, etag: etags.PUT }, range, read);
  const stale = archives.readInto({ key, etag: otherEtag }, range, Buffer.alloc(10));
  const refusal: unknown = await stale.catch((error: unknown) => error);
  if (!(refusal instanceof SourceGoneError))
    return warning('A GET with If-Match returns an object with another ETag.');
  await files.put(key, one);
  const found = [read, await archives.get(key), await files.get(key)];
  await archives.put(key, many);
  await archives.delete([key]);
  const left = (await allPages(archives.list(key))).includes(key);
  const isRight = [many.subarray(5, 15), one, one].every((bytes, at) => bytes.equals(found[at] ?? many));
  if (left || !isRight) return warning('A file is read otherwise than it was written, or is left.');
  return 'A file is written, read only in the version that was listed, and deleted.';
}

/** The object of the first check, from which parts are copied. */
const wholeParts = (probe: Probe) => probe.once('parts', () => uploadParts(probe, [part, one]));

/** A check that needs the object of the first one. */
function partsCheck(
  id: string,
  advice: string,
  ask: (probe: Probe, whole: MadeObject) => Promise<Finding>,
): Check {
  return check(id, advice, async (probe) => {
    const whole = await wholeParts(probe);
    return whole.why === undefined ? ask(probe, whole) : skipped("Multipart uploads aren't supported.");
  });
}

/** Of a copy of all of an object, as zips ask for it: into an upload that is never completed. */
async function crc32OfCopy(probe: Probe, source: SourceObject): Promise<number | undefined> {
  const upload = await probe.archives.createUpload(probe.newKey(), { withCrc32: true });
  probe.partUploads.add(upload);
  return (await probe.archives.copyPart(upload, { number: 1, source, sizeBytes: partBytes + 1 })).crc32;
}

interface MadeObject extends SourceObject {
  /** It isn't made, or isn't as it should be. */
  readonly why?: string;
  readonly error?: Error;
}

/**
 * Makes an object of parts as the service does, and looks whether it has all of them. `range` and `whole` are copies of the
 * first part of an object, and of all of it.
 */
async function uploadParts(
  probe: Probe,
  parts: readonly (Buffer | 'range' | 'whole')[],
  input: { copied?: SourceObject; key?: string; ifAbsent?: boolean } = {},
): Promise<MadeObject> {
  const { copied, key = probe.newKey(), ifAbsent = false } = input;
  probe.written.add(key);
  const source = copied ?? { key, etag: otherEtag };
  const { archives } = probe;
  try {
    const upload = await archives.createUpload(key);
    probe.partUploads.add(upload);
    const made: UploadedPart[] = [];
    for (const [index, bytes] of parts.entries()) {
      const number = index + 1;
      const range = bytes === 'range' ? { startByte: 0, endByte: partBytes } : undefined;
      const sizeBytes = partBytes + (range ? 0 : one.length);
      const isCopy = typeof bytes === 'string';
      const copy = { number, source, range, sizeBytes };
      made.push(
        await (isCopy ? archives.copyPart(upload, copy) : archives.uploadPart(upload, { number, bytes })),
      );
    }
    const found = (await allPages(archives.uploads(key))).some(
      ({ uploadId }) => uploadId === upload.uploadId,
    );
    const listed = await allPages(archives.parts(upload));
    const after = await allPages(archives.parts(upload, { after: 1 }));
    if (!found || listed.length < parts.length || after.length !== listed.length - 1)
      throw new Error("its parts aren't listed");
    const totalBytes = made.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    const { etag } = await archives.complete(upload, made, ifAbsent ? { ifAbsent, totalBytes } : {});
    probe.partUploads.delete(upload);
    const stored = (await probe.head(key))?.sizeBytes;
    if (stored !== totalBytes) throw new Error(`${stored ?? 'no'} bytes are stored instead of ${totalBytes}`);
    return { key, etag };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { key, etag: '', error, why: describeError(error) };
  }
}
