import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { deleteRunMs } from '../../core/ledger/rules/deletion.ts';
import { dayMs } from '../../core/rules/dates.ts';
import { ownFolders } from '../../core/store/rules/own-folders.ts';
import { listPages } from '../../core/store/rules/store.ts';
import { linesOf, type UsagePlace, usagePage } from './byte-hours.ts';
import { type SentHours, sendFinalHours, sentHoursAs } from './byte-hours-beat.ts';
import { createDynamoDbCorrections as corrections } from './correction-store.ts';
import type { ByteHourPorts, UsageFilePorts, UsageFiles } from './ports.ts';
import { hourMs, hourName } from './rules/byte-hours.ts';

/** Of a file: some 50,000 records. Two are in memory at once, and it ends with a page. */
export const fileCharactersMax = 8 * 1024 ** 2;
const pageRecords = 1000;

/** Bills need a year. The bucket's lifecycle, where it has one, removes what is two days older (lib/data.ts). */
const keptMs = 400 * dayMs;

type Deps = Pick<CoreDeps, 'ledger' | 'clock' | 'log'> &
  ByteHourPorts &
  UsageFilePorts & { readonly writtenHours: SentHours };

/**
 * Writes each hour that became final as files, as often as {@link sendFinalHours} says, and then removes the oldest. Neither waits
 * for the webhook, nor the webhook for a store that's down.
 *
 * @returns how many hours were written.
 */
async function writeHours(deps: Deps): Promise<number> {
  const { usageFiles: files, writtenHours, log } = deps;
  if (!files) return 0;
  const hours = await sendFinalHours(deps, {
    isSet: async () => true,
    sent: writtenHours,
    send: (startMs) => writeHour({ ...deps, ...files }, startMs),
  });
  // What it fails at, the next hour does.
  if (hours > 0)
    await removeOld({ ...deps, ...files }).catch((error) => log.warn('old hours not removed', { error }));
  return hours;
}

/** Without a number and an ending. In the order of time. */
export const usageFileName = (startMs: number): string =>
  `${ownFolders.usage}/${hourName(startMs).slice(0, -1).replaceAll(/[-T]/g, '/')}`;

/** What was written is replaced by the same. The first file comes last: with it, the hour is whole. */
async function writeHour(
  { archives, ...deps }: Pick<CoreDeps, 'ledger'> & ByteHourPorts & UsageFiles,
  startMs: number,
): Promise<void> {
  const hour = { fromMs: startMs, toMs: startMs + hourMs, limit: pageRecords };
  const put = (number: string, text: string) =>
    archives.put(`${usageFileName(startMs)}${number}.jsonl`, Buffer.from(text));
  let [first, text, number]: [string | undefined, string, number] = [undefined, '', 1];
  for (let after: UsagePlace | undefined, isLast = false; !isLast; ) {
    const { usage, next } = await usagePage(deps, { ...hour, after });
    [after, isLast, text] = [next, !next, text + linesOf(usage)];
    if (text.length < fileCharactersMax && !isLast) continue;
    if (first === undefined) first = text;
    else if (text !== '') await put(`-${number}`, text);
    [text, number] = ['', number + 1];
  }
  await put('', first ?? '');
}

/** @throws {StoreUnavailableError} */
async function removeOld({ listing, store, clock }: Pick<CoreDeps, 'clock'> & UsageFiles): Promise<void> {
  const nowMs = clock.nowMs();
  const kept = usageFileName(nowMs - keptMs);
  for await (const page of listPages(listing, { prefix: `${ownFolders.usage}/` })) {
    const keys = [...Array(page.keyCount).keys()].map(page.keyAt, page).filter((key) => key < kept);
    for (const error of (await store.delete(keys, { deadlineMs: nowMs + deleteRunMs })).values()) throw error;
    if (keys.length < page.keyCount) return;
  }
}

export const usageFileBeat = {
  beat: writeHours,
  stores: { corrections, writtenHours: sentHoursAs('USAGE_FILES') },
};
