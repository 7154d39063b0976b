import { isAscii } from './member-name.ts';

/** Headers of tar as POSIX.1-2001 has them: ustar, and pax records for what does not fit. */

/** Everything in a tar is a multiple of it. */
export const blockBytes = 512;

/** Eleven octal digits. */
const largestUstarSize = 8 ** 11 - 1;
const ustarNameBytes = 100;
const ustarPrefixBytes = 155;

/** Bytes up to the end of the block. */
export function blockPadding(bytes: number): number {
  return (blockBytes - (bytes % blockBytes)) % blockBytes;
}

interface HeaderFields {
  readonly name: string;
  readonly prefix: string;
  readonly sizeBytes: number;
  readonly modifiedAtSeconds: number;
  /** `0` is a file, `x` has pax records for the file that follows. */
  readonly type: '0' | 'x';
}

/** One block. Owner and group are root's, as only root gives files away when it extracts. */
export function ustarHeader(fields: HeaderFields): Uint8Array {
  const header = Buffer.alloc(blockBytes);
  const octal = (value: number, at: number, digits: number) =>
    header.write(value.toString(8).padStart(digits, '0'), at, 'latin1');
  header.write(fields.name, 0, ustarNameBytes, 'latin1');
  octal(0o644, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(fields.sizeBytes, 124, 11);
  octal(fields.modifiedAtSeconds, 136, 11);
  header.fill(' ', 148, 156);
  header.write(fields.type, 156, 'latin1');
  header.write('ustar\u000000', 257, 'latin1');
  header.write(fields.prefix, 345, ustarPrefixBytes, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148, 'latin1');
  return header;
}

/** Whether a file needs no pax records. */
export function fitsUstar({ name, sizeBytes }: { name: string; sizeBytes: number }): boolean {
  // Most names are short: for a million of them it matters that nothing is made here.
  return (
    sizeBytes <= largestUstarSize && isAscii(name) && (name.length <= ustarNameBytes || !!ustarName(name))
  );
}

/** A name in the two fields of ustar, or undefined if it does not fit there. */
function ustarName(name: string): { name: string; prefix: string } | undefined {
  if (!isAscii(name)) return undefined;
  if (name.length <= ustarNameBytes) return { name, prefix: '' };
  // The first slash behind which the rest fits leaves the shortest prefix.
  const slash = name.indexOf('/', name.length - ustarNameBytes - 1);
  if (slash <= 0 || slash > ustarPrefixBytes) return undefined;
  return { name: name.slice(slash + 1), prefix: name.slice(0, slash) };
}

/** The pax records that a file needs, for its name, its size or both. */
export function paxRecords(member: { name: string; sizeBytes: number }): Uint8Array {
  const path = ustarName(member.name) ? '' : paxRecord('path', member.name);
  const size = member.sizeBytes > largestUstarSize ? paxRecord('size', String(member.sizeBytes)) : '';
  return Buffer.from(path + size);
}

/** `LENGTH KEY=VALUE\n`, where the length counts its own digits too. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const restBytes = Buffer.byteLength(rest);
  let length = restBytes + String(restBytes).length;
  length = restBytes + String(length).length;
  return `${length}${rest}`;
}

/** What stands in ustar's fields beside a pax record that overrides them. */
export function ustarFallback(member: { name: string; sizeBytes: number }): {
  name: string;
  prefix: string;
  sizeBytes: number;
} {
  const name = ustarName(member.name) ?? {
    name: member.name.replaceAll(/[^ -~]/g, '_').slice(0, ustarNameBytes),
    prefix: '',
  };
  return { ...name, sizeBytes: member.sizeBytes > largestUstarSize ? 0 : member.sizeBytes };
}
