/** The axes of the chart. */

/** A limit that is further above what is stored would press the line to the ground. */
const limitTimesMax = 5;

/** Where the chart ends: a little above the limit, or above what is stored if the limit is far. */
export function topOf(mostBytes: number, limitBytes: number | null): number {
  const most = Math.max(mostBytes, 1);
  const isLimitNear = limitBytes !== null && limitBytes > 0 && limitBytes <= most * limitTimesMax;
  return Math.max(most, isLimitNear ? limitBytes : 0) * 1.08;
}

/** Two to four round figures in the unit of the largest, from 0 on. */
export function ticksOf(top: number): number[] {
  const unit = 1024 ** Math.floor(Math.log(Math.max(top, 1)) / Math.log(1024));
  const rough = top / unit / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power * unit;
  const ticks = [0];
  for (let bytes = step; bytes < top * 0.95; bytes += step) ticks.push(bytes);
  return ticks.filter((bytes) => bytes === 0 || bytes >= 1);
}

const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Some days with a name: first days of quarters, of months, or each seventh day. */
export function dayTicks(days: readonly string[]): { index: number; text: string }[] {
  const named = days.flatMap((day, index) => {
    const [year = 0, month = 0, date = 0] = day.split('-').map(Number);
    const name = monthNames[month - 1] ?? '';
    if (days.length <= 45)
      return (days.length - 1 - index) % 7 === 3 ? [{ index, text: `${date} ${name}` }] : [];
    if (date !== 1 || (days.length > 200 && month % 3 !== 1)) return [];
    return [{ index, text: month === 1 ? `${name} ${year}` : name }];
  });
  // Text at the edges would stick out.
  return named.filter(({ index }) => index > days.length * 0.04 && index < days.length * 0.95);
}
