import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { absent } from '../../core/table/expressions.ts';
import { getItem, putItem, type Table } from '../../core/table/requests.ts';
import { iso } from '../../frame/contract/fields.ts';
import { type UsagePlace, usagePage } from './byte-hours.ts';
import type { UsageBody } from './byte-hours-contract.ts';
import { createDynamoDbCorrections as corrections } from './correction-store.ts';
import type { ByteHourPorts, UsageHookPorts } from './ports.ts';
import { finalUntilMs, hourMs, hourName } from './rules/byte-hours.ts';
import { writeHour } from './usage-files.ts';

/** What hours are sent to. With what the schedule has, so neither waits for the other. */
type Output = 'USAGE' | 'USAGE_FILES';

/**
 * Until when hours were sent, one item for all tenants. With times, it's moved from one to the other, unless somebody else has
 * moved it.
 *
 * @returns as it is now. undefined: none was ever sent.
 */
const sentHours =
  (table: Table) => async (to: Output, moved?: { fromMs: number | undefined; toMs: number }) => {
    const key = { pk: 'SCHEDULE', sk: to };
    if (moved) {
      const condition = moved.fromMs === undefined ? absent : '#untilMs = :from';
      const item = { ...key, untilMs: moved.toMs };
      await putItem(table, { item, condition, values: { ':from': moved.fromMs } });
    }
    const item = await getItem(table, key);
    return item && Number(item['untilMs']);
  };

/** Records of one message, and what they take at most: a queue takes 256 KiB. */
const recordsMax = 1000;
const bytesMax = 200_000;

/** Hours of one run. Another one goes on. */
const hoursAtOnce = 24;
/** Hours that are older are left out: whoever bills by them takes none so late. */
const oldestMs = 30 * 24 * hourMs;

type Deps = Pick<CoreDeps, 'ledger' | 'clock' | 'log'> &
  ByteHourPorts &
  UsageHookPorts & { readonly sentHours: ReturnType<typeof sentHours> };

/** To the webhook, and to files. @returns how many hours were sent to each. */
async function sendToAll(deps: Deps): Promise<{ usage: number; usageFiles: number }> {
  const { usageHookIsSet, usageFiles: files } = deps;
  const usage = await sendHours(deps, 'USAGE', async () => (await usageHookIsSet?.()) && sendHour);
  const write = files && ((_: Deps, startMs: number) => writeHour({ ...deps, ...files }, startMs));
  return { usage, usageFiles: await sendHours(deps, 'USAGE_FILES', async () => write) };
}

/**
 * Sends the hours that became final since it was done last. What dies in between sends an hour again: its records are the same. It
 * begins with the first hour that becomes final after the webhook, or the setting of files, was set. It never fails.
 *
 * @param senderOf a falsy one: it isn't set. @returns how many hours were sent.
 */
async function sendHours(
  deps: Deps,
  to: Output,
  senderOf: () => Promise<typeof sendHour | false | undefined>,
): Promise<number> {
  const { sentHours: sent, clock, log } = deps;
  let hours = 0;
  try {
    const send = await senderOf();
    if (!send) return 0;
    const untilMs = finalUntilMs(clock.nowMs());
    let fromMs = await sent(to);
    if (fromMs !== undefined && fromMs > untilMs + hourMs) {
      // A clock was ahead. What it sent wasn't final, and it left out what was.
      log.warn('hours sent ahead of time: those of a day are sent again', { to, untilMs: fromMs });
      fromMs = await sent(to, { fromMs, toMs: untilMs - hoursAtOnce * hourMs });
    }
    const firstMs = fromMs === undefined ? untilMs : Math.max(fromMs, untilMs - oldestMs);
    if (fromMs === undefined) await sent(to, { fromMs, toMs: untilMs });
    for (let startMs = firstMs; startMs < untilMs && hours < hoursAtOnce; startMs += hourMs) {
      await send(deps, startMs);
      fromMs = await sent(to, { fromMs, toMs: startMs + hourMs });
      hours += 1;
    }
  } catch (error) {
    log.warn('hours not sent', { to, error });
  }
  return hours;
}

async function sendHour(deps: Deps, startMs: number): Promise<void> {
  const hour = { fromMs: startMs, toMs: startMs + hourMs, limit: recordsMax };
  let part = 0;
  const send = async (usage: UsageBody[]) => {
    if (usage.length === 0) return;
    part += 1;
    const data = { hour: iso(startMs), part, usage };
    const timestamp = new Date(startMs + hourMs).toISOString();
    const event = { id: `usage:${hourName(startMs)}:${part}`, type: 'usage.hour', timestamp, data } as const;
    // No tenant is called so.
    await deps.webhookQueue?.send([{ tenant: 'USAGE', event }]);
  };
  for (let after: UsagePlace | undefined; ; ) {
    const { usage: found, next } = await usagePage(deps, { ...hour, after });
    let [usage, bytes]: [UsageBody[], number] = [[], 0];
    for (const body of found) {
      const moreBytes = Buffer.byteLength(JSON.stringify(body));
      if (bytes + moreBytes > bytesMax) {
        await send(usage);
        [usage, bytes] = [[], 0];
      }
      usage.push(body);
      bytes += moreBytes;
    }
    await send(usage);
    if (!next) return;
    after = next;
  }
}

export const usageBeat = { beat: sendToAll, stores: { corrections, sentHours } };
