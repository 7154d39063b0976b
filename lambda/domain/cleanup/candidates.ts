/** Files of candidates: a line each, the oid, a blank, and the bytes. */

/** An object that may be deleted. */
export interface Candidate {
  readonly oid: string;
  readonly sizeBytes: number;
}

export function encodeCandidates(candidates: readonly Candidate[]): Buffer {
  return Buffer.from(candidates.map(({ oid, sizeBytes }) => `${oid} ${sizeBytes}\n`).join(''));
}

/** @throws {Error} if it is not such a file: nothing may be deleted by it. */
export function decodeCandidates(bytes: Uint8Array): Candidate[] {
  const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8').split('\n');
  if (lines.pop() !== '') throw new Error('A file of candidates does not end with its last line.');
  return lines.map((line) => {
    const sizeBytes = Number(line.slice(oidDigits + 1));
    if (!candidateLine.test(line) || !Number.isSafeInteger(sizeBytes))
      throw new Error('A line is no candidate.');
    return { oid: line.slice(0, oidDigits), sizeBytes };
  });
}

const oidDigits = 64;
const candidateLine = /^[0-9a-f]{64} \d+$/;
