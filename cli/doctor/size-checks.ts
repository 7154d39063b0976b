import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import { type Check, type Finding, pass, skip, warn } from './check.ts';
import type { Probe } from './probe.ts';
import { describeOutcome, isAccepted, type RawOutcome } from './raw-request.ts';

/** How large one PUT may be. */
export const sizeChecks: readonly Check[] = [{ id: 'largest-upload', isOptional: true, run: tryLargest }];

const pieceBytes = 1024 * 1024;

/** Halving ends here: a store that refuses this has another reason. */
const smallestBytes = 1024 * 1024;

/** Uploads zeros: as many as was asked for, and half as many as long as the store refuses. */
async function tryLargest(probe: Probe): Promise<Finding> {
  const { largestBytes } = probe.target;
  if (largestBytes === undefined) return skip('Uploads a large object: give --largest SIZE, such as 5GiB.');
  let refused: RawOutcome | undefined;
  for (let size = largestBytes; size === largestBytes || size >= smallestBytes; size = Math.floor(size / 2)) {
    const outcome = await uploadZeros(probe, size);
    if (!isAccepted(outcome)) {
      refused ??= outcome;
      continue;
    }
    const facts = { maxPutBytes: size };
    if (refused === undefined) return pass(`One PUT of ${formatBytes(size)} is accepted.`, facts);
    return warn(
      `One PUT of ${formatBytes(largestBytes)} is refused (${describeOutcome(refused)}), one of ${formatBytes(size)} accepted.`,
      `Set protocol.objectMaxMiB to ${Math.floor(size / 1024 ** 2)} or less, so that larger objects are refused with a reason.`,
      facts,
    );
  }
  const reason = refused === undefined ? '' : ` (${describeOutcome(refused)})`;
  return warn(
    `One PUT of ${formatBytes(largestBytes)} is refused${reason}, and smaller ones as well.`,
    'Look for a limit of what stands before the store, such as a proxy.',
  );
}

async function uploadZeros(probe: Probe, sizeBytes: number): Promise<RawOutcome> {
  const key = probe.newKey();
  const hash = createHash('sha256');
  for (const piece of zeros(sizeBytes)) hash.update(piece);
  const body = Readable.from(zeros(sizeBytes), { objectMode: false });
  const outcome = await probe.uploadStream(key, { oid: hash.digest('hex'), sizeBytes, body });
  if (!isAccepted(outcome)) return outcome;
  const stored = await probe.head(key);
  // So large that it should not wait for the cleanup.
  await probe.delete(key);
  if (stored?.sizeBytes === sizeBytes) return outcome;
  return { kind: 'cut', reason: `stored ${stored?.sizeBytes ?? 'nothing'}` };
}

function* zeros(sizeBytes: number): Generator<Buffer> {
  const piece = Buffer.alloc(pieceBytes);
  for (let left = sizeBytes; left > 0; left -= pieceBytes)
    yield left < pieceBytes ? piece.subarray(0, left) : piece;
}
