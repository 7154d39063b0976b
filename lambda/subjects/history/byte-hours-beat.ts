import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { absent } from '../../core/table/expressions.ts';
import { getItem, putItem, type Table } from '../../core/table/requests.ts';
import { iso } from '../../frame/contract/fields.ts';
import { type UsagePlace, usagePage } from './byte-hours.ts';
import type { UsageBody } from './byte-hours-contract.ts';
import { createDynamoDbCorrections as corrections } from './correction-store.ts';
import type { ByteHourPorts, UsageHookPorts } from './ports.ts';
import { finalUntilMs, hourMs, hourName } from './rules/byte-hours.ts';

/**
 * Until when hours were sent, one item for all tenants, with what the schedule has. With times, it's moved from one to the other,
 * unless somebody else has moved it.
 *
 * @returns as it is now. undefined: none was ever sent.
 */
export const sentHoursAs =
  (sk: string) => (table: Table) => async (moved?: { fromMs: number | undefined; toMs: number }) => {
    const key = { pk: 'SCHEDULE', sk };
    if (moved) {
      const condition = moved.fromMs === undefined ? absent : '#untilMs = :from';
      const item = { ...key, untilMs: moved.toMs };
      await putItem(table, { item, condition, values: { ':from': moved.fromMs } });
    }
    const item = await getItem(table, key);
    return item && Number(item['untilMs']);
  };

export type SentHours = ReturnType<ReturnType<typeof sentHoursAs>>;
const sentHours = sentHoursAs('USAGE');

/** Records of one message, and what they take at most: a queue takes 256 KiB. */
const recordsMax = 1000;
const bytesMax = 200_000;

/** Hours of one run. Another one goes on. */
const hoursAtOnce = 24;
/** Hours that are older are left out: whoever bills by them takes none so late. */
const oldestMs = 30 * 24 * hourMs;

type Deps = Pick<CoreDeps, 'ledger' | 'clock' | 'log'> &
  ByteHourPorts &
  UsageHookPorts & { readonly sentHours: SentHours };

/**
 * Sends the hours that became final since it was done last. What dies in between sends an hour again: its records are the same. It
 * begins with the first hour that becomes final after it was set. It never fails.
 *
 * @returns how many hours were sent.
 */
export async function sendFinalHours(
  { clock, log }: Pick<CoreDeps, 'clock' | 'log'>,
  by: { isSet: () => Promise<boolean>; sent: SentHours; send: (startMs: number) => Promise<void> },
): Promise<number> {
  let hours = 0;
  try {
    if (!(await by.isSet())) return 0;
    const untilMs = finalUntilMs(clock.nowMs());
    let fromMs = await by.sent();
    const firstMs = fromMs === undefined ? untilMs : Math.max(fromMs, untilMs - oldestMs);
    if (fromMs === undefined) await by.sent({ fromMs, toMs: untilMs });
    for (let startMs = firstMs; startMs < untilMs && hours < hoursAtOnce; startMs += hourMs) {
      await by.send(startMs);
      fromMs = await by.sent({ fromMs, toMs: startMs + hourMs });
      hours += 1;
    }
  } catch (error) {
    log.warn('hours not sent', { error });
  }
  return hours;
}

const sendHours = (deps: Deps): Promise<number> =>
  sendFinalHours(deps, {
    isSet: async () => (await deps.usageHookIsSet?.()) ?? false,
    sent: deps.sentHours,
    send: (startMs) => sendHour(deps, startMs),
  });

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

export const usageBeat = { beat: sendHours, stores: { corrections, sentHours } };
