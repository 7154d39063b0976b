import { formatNumber, formatTable } from '../cost/tables.ts';
import { defaultSettings } from '../lambda/domain/settings.ts';
import { jsonBody } from '../lambda/http/management/operation.ts';
import { httpEvent } from '../test/support/http-event.ts';
import { worstBodies } from '../test/support/worst-bodies.ts';

const runs = 5;

/** CPU and memory of the worst bodies of each route: as large as they may be, with everything in them wrong. */
export async function benchBodies(print: (text: string) => void): Promise<unknown> {
  const rows = worstBodies().map(({ route, title, schema, text }) => {
    const read = jsonBody(schema, Number.POSITIVE_INFINITY);
    const event = httpEvent({ headers: { 'content-type': 'application/json' }, body: text });
    const [rssBefore, before] = [process.memoryUsage().rss, process.cpuUsage()];
    for (let run = 0; run < runs; run += 1) read({ settings: defaultSettings }, event);
    const { user, system } = process.cpuUsage(before);
    const grownMb = Math.max(0, process.memoryUsage().rss - rssBefore) / 1e6;
    return { route, title, bytes: text.length, cpuMs: (user + system) / 1000 / runs, grownMb };
  });
  rows.sort((a, b) => b.cpuMs - a.cpuMs);
  const shown = rows.map(({ route, title, bytes, cpuMs, grownMb }) => [
    `${route} ${title}`,
    formatNumber(bytes),
    cpuMs.toFixed(1),
    grownMb.toFixed(0),
  ]);
  print(formatTable(['', 'bytes', 'CPU ms', 'MB more'], shown));
  return rows;
}
