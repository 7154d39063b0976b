const dot = 0x2e;
const capitalZ = 0x5a;
const lessThan = 0x3c;

/** The shortest: `2026-11-01T10:00:00Z<`. */
const lengthMin = 21;
const fractionStart = 19;

/** Days from the first of March to the first of each month. Years that begin in March have the leap day at their end. */
const daysSinceMarch = Uint16Array.of(0, 306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275);
const daysFromYear0To1970 = 719_468;

/**
 * The time that the bytes say in UTC, such as `2026-11-01T10:00:00.000Z`, with any fraction of a second or none. It is
 * read four bytes at a time, without divisions: `Date.parse` takes 20 times as long.
 *
 * @param start its first digit. A tag must follow its `Z`.
 * @returns ms since 1970, rounded down. NaN if it is written in another way.
 */
export function timeAt(bytes: DataView, start: number): number {
  if (start + lengthMin > bytes.byteLength) return Number.NaN;
  const dashMonthDash = bytes.getInt32(start + 4);
  const dayTHour = bytes.getInt32(start + 8);
  const hourColonMinute = bytes.getInt32(start + 12);
  const colonSecond = bytes.getInt32(start + 16);
  const isWritten =
    (dashMonthDash & 0xff0000ff) === 0x2d00002d &&
    (dayTHour & 0xff00) === 0x5400 &&
    (hourColonMinute & 0xff0000) === 0x3a0000 &&
    colonSecond >>> 24 === 0x3a;
  const year = fourDigits(bytes.getInt32(start));
  const monthDay = fourDigits(((dashMonthDash & 0xffff00) << 8) | (dayTHour >>> 16));
  const hourMinute = fourDigits(
    (dayTHour << 24) | ((hourColonMinute >>> 24) << 16) | (hourColonMinute & 0xffff),
  );
  const second = fourDigits(0x30300000 | ((colonSecond >>> 8) & 0xffff));
  const ms = fractionAt(bytes, start + fractionStart);
  if (!isWritten || (year | monthDay | hourMinute | second | ms) < 0) return Number.NaN;
  // A hundredth, rounded down, as long as the number is below 10,000.
  const month = (monthDay * 5243) >> 19;
  const day = monthDay - month * 100;
  const hour = (hourMinute * 5243) >> 19;
  const minute = hourMinute - hour * 100;
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= 31;
  if (!isDate || hour > 23 || minute > 59 || second > 60) return Number.NaN;
  return daysSince1970(year, month, day) * 86_400_000 + ((hour * 60 + minute) * 60 + second) * 1000 + ms;
}

/** The ms in `.123Z<` or `Z<`. Negative if there is anything else. */
function fractionAt(bytes: DataView, start: number): number {
  let at = start;
  let ms = 0;
  if (bytes.getUint8(at) === dot) {
    let unit = 100;
    for (at += 1; at < bytes.byteLength; at += 1) {
      const digit = bytes.getUint8(at) - 0x30;
      if (digit < 0 || digit > 9) break;
      ms += unit * digit;
      unit = unit === 100 ? 10 : unit === 10 ? 1 : 0;
    }
    if (at === start + 1) return -1;
  }
  const isEnd = at + 2 <= bytes.byteLength && bytes.getUint8(at) === capitalZ;
  return isEnd && bytes.getUint8(at + 1) === lessThan ? ms : -1;
}

/** The number in four characters. Negative if one of them is no digit. */
function fourDigits(four: number): number {
  // In each byte the highest bit: not ASCII, above `9`, below `0`.
  const isNumber = ((four | (four + 0x46464646) | (four - 0x30303030)) & 0x80808080) === 0;
  if (!isNumber) return -1;
  return (
    (four >>> 24) * 1000 + ((four >>> 16) & 0xff) * 100 + ((four >>> 8) & 0xff) * 10 + (four & 0xff) - 53_328
  );
}

function daysSince1970(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year;
  const century = Math.floor(marchYear / 100);
  const leapDays = (marchYear >> 2) - century + (century >> 2);
  return marchYear * 365 + leapDays + Number(daysSinceMarch[month]) + day - 1 - daysFromYear0To1970;
}
