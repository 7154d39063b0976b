import type { FileHandle } from 'node:fs/promises';
import type { Layout } from '../../lambda/domain/export/layout.ts';
import { segmentsIn } from '../../lambda/domain/export/segments.ts';

/** Bytes that are copied, or put together, at a time. */
const pieceBytes = 1024 ** 2;

/** Writes all of the bytes. */
export async function writeAt(file: FileHandle, bytes: Uint8Array, startByte: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, startByte + done);
    done += bytesWritten;
  }
}

/** Writes everything of an archive that is not the bytes of an object: manifest, index, heads, padding, end. */
export async function writeLiterals(file: FileHandle, layout: Layout): Promise<void> {
  let at = 0;
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  const write = async () => {
    await writeAt(file, Buffer.concat(waiting), at - waitingBytes);
    waiting = [];
    waitingBytes = 0;
  };
  for (const segment of segmentsIn(layout, { startByte: 0, endByte: layout.sizeBytes })) {
    if (segment.kind === 'object' || waitingBytes >= pieceBytes) await write();
    if (segment.kind === 'literal') {
      waiting.push(segment.bytes(0));
      waitingBytes += segment.sizeBytes;
    }
    at += segment.sizeBytes;
  }
  await write();
}

/** Copies bytes from one file to another. @throws {Error} if the first one is too short. */
export async function copyBytes(
  from: { file: FileHandle; startByte: number },
  to: { file: FileHandle; startByte: number },
  sizeBytes: number,
): Promise<void> {
  const piece = Buffer.allocUnsafe(Math.min(pieceBytes, sizeBytes));
  for (let done = 0; done < sizeBytes; ) {
    const wanted = Math.min(piece.length, sizeBytes - done);
    const { bytesRead } = await from.file.read(piece, 0, wanted, from.startByte + done);
    if (bytesRead === 0) throw new Error('The archive that is being made has become shorter.');
    await writeAt(to.file, piece.subarray(0, bytesRead), to.startByte + done);
    done += bytesRead;
  }
}
