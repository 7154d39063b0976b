import { type FileHandle, open } from 'node:fs/promises';
import { isOid } from '../../lambda/core/rules/names.ts';
import { CliError } from '../errors.ts';
import type { LfsObject } from '../lfs-batch.ts';
import type { Source } from './relay.ts';

/** An archive of an export as a source: its second file lists where each object begins. */

/** Bytes that are read at a time. */
const pieceBytes = 256 * 1024;

interface OpenArchive extends Source {
  readonly objects: readonly LfsObject[];
  close(): Promise<void>;
}

/** @param path of a tar or a zip. @throws {CliError} */
export async function openArchive(path: string): Promise<OpenArchive> {
  const unreadable = (cause?: unknown) =>
    new CliError(`Can't read ${path}.`, { hint: 'Pass the tar or zip of an export.', cause });
  const file = await open(path, 'r').catch((cause) => {
    throw unreadable(cause);
  });
  try {
    if (!(await file.stat()).isFile()) throw unreadable();
    const manifest = await readMember(file, 0);
    const index = manifest && (await readMember(file, manifest.endByte));
    if (!index || !/^lfs\/export\/index-\d+\.txt$/.test(index.name))
      throw new CliError(`${path} isn't the archive of an export.`, {
        hint: 'Pass a tar or zip of: lfs-quota export start TENANT --output DIR',
      });
    const starts = new Map<string, number>();
    const objects: LfsObject[] = [];
    for await (const [oid, sizeBytes, startByte] of linesOf(file, index)) {
      // Of a whole tenant, several repos may have it.
      if (!starts.has(oid)) objects.push({ oid, sizeBytes });
      starts.set(oid, startByte);
    }
    return {
      objects,
      close: () => file.close(),
      offers: async (_, wanted) =>
        new Map(
          wanted.map(({ oid, sizeBytes }) => {
            const startByte = starts.get(oid) ?? 0;
            return [oid, { kind: 'found', open: async () => piecesOf(file, { startByte, sizeBytes }) }];
          }),
        ),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

interface PlacedFile {
  readonly name: string;
  readonly startByte: number;
  readonly sizeBytes: number;
  /** Where the next one begins. */
  readonly endByte: number;
}

/** The file of an archive whose head is there, as an export writes it: stored as it is, and none of pax. */
async function readMember(file: FileHandle, at: number): Promise<PlacedFile | undefined> {
  const head = Buffer.alloc(512);
  const { bytesRead } = await file.read(head, 0, head.length, at);
  const sizeBytes = Number.parseInt(head.toString('latin1', 124, 135), 8);
  if (head.toString('latin1', 257, 262) === 'ustar' && sizeBytes >= 0) {
    const [name = ''] = head.toString('latin1', 0, 100).split('\0');
    const startByte = at + head.length;
    return { name, startByte, sizeBytes, endByte: startByte + Math.ceil(sizeBytes / 512) * 512 };
  }
  if (bytesRead < 30 || head.readUInt32LE(0) !== 0x04034b50) return undefined;
  const nameBytes = head.readUInt16LE(26);
  const startByte = at + 30 + nameBytes + head.readUInt16LE(28);
  const storedBytes = head.readUInt32LE(18);
  const name = head.toString('latin1', 30, 30 + nameBytes);
  return { name, startByte, sizeBytes: storedBytes, endByte: startByte + storedBytes };
}

async function* linesOf(file: FileHandle, index: PlacedFile): AsyncGenerator<[string, number, number]> {
  const damaged = () =>
    new CliError('The index of the archive is damaged.', { hint: 'Download the archive again.' });
  let [leftBytes, begun] = [index.sizeBytes, ''];
  for await (const piece of piecesOf(file, index)) {
    leftBytes -= piece.length;
    const lines = (begun + piece.toString('latin1')).split('\n');
    begun = lines.pop() ?? '';
    for (const line of lines) {
      const [oid = '', size, start] = line.split(/ +/);
      const numbers = [Number(size), Number(start)] as const;
      if (!isOid(oid) || !numbers.every((number) => Number.isSafeInteger(number) && number >= 0))
        throw damaged();
      yield [oid, ...numbers];
    }
  }
  if (leftBytes > 0 || begun !== '') throw damaged();
}

/** A file that is cut off ends early. A piece's memory is used again for the one after the next. */
export async function* piecesOf(
  file: FileHandle,
  { startByte, sizeBytes }: { startByte: number; sizeBytes: number },
): AsyncGenerator<Buffer> {
  const memory = [0, 1].map(() => Buffer.allocUnsafe(Math.min(pieceBytes, sizeBytes)));
  for (let [at, turn] = [0, 0]; at < sizeBytes; turn = 1 - turn) {
    const piece = memory[turn] as Buffer;
    const { bytesRead } = await file.read(piece, 0, Math.min(piece.length, sizeBytes - at), startByte + at);
    if (bytesRead === 0) return;
    yield piece.subarray(0, bytesRead);
    at += bytesRead;
  }
}
