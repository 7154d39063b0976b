import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import { Sha256 } from '../../../lambda/subjects/chunks/sha256.ts';
import type { HashedPart, PartToHash } from './part-hasher.ts';

/** The thread of a {@link PartHasher}. It throws what reading fails with, and ends. */

/** Bytes of a part that are in memory at a time. */
const pieceBytes = 512 * 1024;

// A thread that starts sets this back for the whole process, before Node 24: see main.ts.
setFlagsFromString('--semi-space-growth-factor=1');

const memory = Buffer.allocUnsafe(pieceBytes);
let running: { sha256: Sha256; toByte: number } | undefined;

parentPort?.on('message', async (part: PartToHash) => parentPort?.postMessage(await hash(part)));

/** Parts that follow one another share one computation. @returns undefined if the file ends before the part does. */
async function hash({ startByte, sizeBytes, before, isLast }: PartToHash): Promise<HashedPart | undefined> {
  if (running?.toByte !== startByte)
    running = { sha256: await Sha256.create({ state: before, bytes: startByte }), toByte: startByte };
  const { sha256 } = running;
  // Its own SHA-256 has no state, and takes a fifth of the time.
  const own = createHash('sha256');
  const endByte = startByte + sizeBytes;
  while (running.toByte < endByte) {
    const lengthMax = Math.min(pieceBytes, endByte - running.toByte);
    const bytesRead = readSync(workerData.fd, memory, 0, lengthMax, running.toByte);
    if (bytesRead === 0) return undefined;
    const piece = memory.subarray(0, bytesRead);
    own.update(piece);
    sha256.update(piece);
    running.toByte += bytesRead;
  }
  return { oid: own.digest('hex'), after: isLast ? sha256.digest() : sha256.state() };
}
