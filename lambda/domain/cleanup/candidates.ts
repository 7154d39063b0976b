/** Files of candidates: a line each, the oid, a blank, and the bytes. */

/** An object that may be deleted. */
export interface Candidate {
  readonly oid: string;
  readonly sizeBytes: number;
}

export function encodeCandidates(candidates: readonly Candidate[]): Buffer {
  return Buffer.from(candidates.map(({ oid, sizeBytes }) => `${oid} ${sizeBytes}\n`).join(''));
}

/** @returns undefined if it isn't such a file, or was cut: nothing may be deleted by it. */
export function decodeCandidates(bytes: Uint8Array): Candidate[] | undefined {
  const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8').split('\n');
  if (lines.pop() !== '') return undefined;
  const candidates: Candidate[] = [];
  for (const line of lines) {
    const sizeBytes = Number(line.slice(oidDigits + 1));
    if (!candidateLine.test(line) || !Number.isSafeInteger(sizeBytes)) return undefined;
    candidates.push({ oid: line.slice(0, oidDigits), sizeBytes });
  }
  return candidates;
}

const oidDigits = 64;
const candidateLine = /^[0-9a-f]{64} \d+$/;
