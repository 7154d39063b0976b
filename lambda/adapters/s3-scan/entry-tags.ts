/**
 * The tags of an entry, compared four bytes at a time: a loop over their bytes takes several times as long. All of a
 * tag must lie within the bytes, else a RangeError is thrown.
 */

export const contentsOpenLength = '<Contents>'.length;
export const contentsCloseLength = '</Contents>'.length;
export const keyOpenLength = '<Key>'.length;
export const sizeOpenLength = '<Size>'.length;
export const sizeCloseLength = '</Size>'.length;
export const timeOpenLength = '<LastModified>'.length;

export const lessThan = 0x3c;

/** Four characters, as `getInt32` reads them. */
function word(text: string): number {
  return Buffer.from(text, 'latin1').readInt32BE();
}

const lessCon = word('<Con');
const tent = word('tent');
const nts = word('nts>');
const lessSlashCo = word('</Co');
const nten = word('nten');
const lessKey = word('<Key');
const key = word('Key>');
const lessSiz = word('<Siz');
const ize = word('ize>');
const lessSlashSi = word('</Si');
const lessLas = word('<Las');
const tMod = word('tMod');
const ifie = word('ifie');
const ied = word('ied>');

export function isContentsOpen(bytes: DataView, at: number): boolean {
  return bytes.getInt32(at) === lessCon && bytes.getInt32(at + 4) === tent && bytes.getInt32(at + 6) === nts;
}

export function isContentsClose(bytes: DataView, at: number): boolean {
  return (
    bytes.getInt32(at) === lessSlashCo && bytes.getInt32(at + 4) === nten && bytes.getInt32(at + 7) === nts
  );
}

export function isKeyOpen(bytes: DataView, at: number): boolean {
  return bytes.getInt32(at) === lessKey && bytes.getInt32(at + 1) === key;
}

export function isSizeOpen(bytes: DataView, at: number): boolean {
  return bytes.getInt32(at) === lessSiz && bytes.getInt32(at + 2) === ize;
}

export function isSizeClose(bytes: DataView, at: number): boolean {
  return bytes.getInt32(at) === lessSlashSi && bytes.getInt32(at + 3) === ize;
}

/** `<LastModified>` */
export function isTimeOpen(bytes: DataView, at: number): boolean {
  return (
    bytes.getInt32(at) === lessLas &&
    bytes.getInt32(at + 4) === tMod &&
    bytes.getInt32(at + 8) === ifie &&
    bytes.getInt32(at + 10) === ied
  );
}

/** True if one of the four bytes is `<`. */
export function hasLessThan(fourBytes: number): boolean {
  // `<` becomes 0. Only a 0, or what is right above one, borrows from its highest bit without having had it.
  const bytes = fourBytes ^ 0x3c3c3c3c;
  return ((bytes - 0x01010101) & ~bytes & 0x80808080) !== 0;
}
