import { expect } from 'vitest';

/** The files of a tar, by name. */
export function untar(tar: Uint8Array): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  const text = (at: number, length: number) =>
    Buffer.from(tar.subarray(at, at + length))
      .toString()
      .replace(/\0.*$/s, '');
  let at = 0;
  let longName: string | undefined;
  for (; at < tar.length && tar[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    const content = tar.subarray(at + 512, at + 512 + size);
    const prefix = text(at + 345, 155);
    if (text(at + 156, 1) === 'x') longName = /^\d+ path=(.*)\n/.exec(Buffer.from(content).toString())?.[1];
    else {
      files.set(longName ?? (prefix && `${prefix}/`) + text(at, 100), content);
      longName = undefined;
    }
    at += 512 + Math.ceil(size / 512) * 512;
  }
  expect(tar.subarray(at).every((byte) => byte === 0)).toBe(true);
  return files;
}
