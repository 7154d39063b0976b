export const timeOpenLength = '<LastModified>'.length;

const dash = 0x2d;
const colon = 0x3a;
const dot = 0x2e;
const lessThan = 0x3c;

/** `<LastModified>`. Written out byte by byte: a loop over the bytes of a tag takes several times as long. */
export function isTimeOpen(body: Uint8Array, at: number): boolean {
  return (
    body[at] === lessThan &&
    body[at + 1] === 0x4c &&
    body[at + 2] === 0x61 &&
    body[at + 3] === 0x73 &&
    body[at + 4] === 0x74 &&
    body[at + 5] === 0x4d &&
    body[at + 6] === 0x6f &&
    body[at + 7] === 0x64 &&
    body[at + 8] === 0x69 &&
    body[at + 9] === 0x66 &&
    body[at + 10] === 0x69 &&
    body[at + 11] === 0x65 &&
    body[at + 12] === 0x64 &&
    body[at + 13] === 0x3e
  );
}

/**
 * The time that the bytes say in UTC, such as `2026-11-01T10:00:00.000Z`, with any fraction of a second or none.
 *
 * @param start its first digit. A tag must follow its `Z`.
 * @returns ms since 1970, rounded down. NaN if it is written in another way.
 */
export function timeAt(body: Uint8Array, start: number): number {
  const [year, month, day] = [digits(body, start, 4), digits(body, start + 5, 2), digits(body, start + 8, 2)];
  const hours = digits(body, start + 11, 2);
  const minutes = digits(body, start + 14, 2);
  const seconds = digits(body, start + 17, 2);
  const isWritten =
    body[start + 4] === dash &&
    body[start + 7] === dash &&
    body[start + 10] === 0x54 &&
    body[start + 13] === colon &&
    body[start + 16] === colon;
  // Only then is no number NaN, either.
  const isValid =
    month >= 1 && month <= 12 && day >= 1 && day <= 31 && hours <= 23 && minutes <= 59 && seconds <= 60;
  if (!isWritten || !isValid) return Number.NaN;
  const ms = fractionAt(body, start + 19);
  return (((daysSince1970(year, month, day) * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + ms;
}

/** The ms in `.123Z<` or `Z<`. NaN if there is anything else. */
function fractionAt(body: Uint8Array, start: number): number {
  let at = start;
  let ms = 0;
  if (body[at] === dot) {
    let unit = 100;
    for (at += 1; isDigit(body[at]); at += 1) {
      ms += Math.floor(unit) * (Number(body[at]) - 0x30);
      unit /= 10;
    }
    if (at === start + 1) return Number.NaN;
  }
  return body[at] === 0x5a && body[at + 1] === lessThan ? ms : Number.NaN;
}

/** A number of so many digits. NaN if one of the bytes is none. */
function digits(body: Uint8Array, start: number, count: number): number {
  let number = 0;
  for (let at = start; at < start + count; at += 1) {
    if (!isDigit(body[at])) return Number.NaN;
    number = number * 10 + Number(body[at]) - 0x30;
  }
  return number;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** `Date.UTC` takes several times as long. */
function daysSince1970(year: number, month: number, day: number): number {
  // Years that begin in March have the leap day at their end.
  const marchYear = month <= 2 ? year - 1 : year;
  const monthsSinceMarch = (month + 9) % 12;
  const dayOfYear = Math.floor((153 * monthsSinceMarch + 2) / 5) + day - 1;
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
  return marchYear * 365 + leapDays + dayOfYear - 719_468;
}
