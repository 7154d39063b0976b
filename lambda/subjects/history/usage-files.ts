import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { deleteRunMs } from '../../core/ledger/rules/deletion.ts';
import { dayMs } from '../../core/rules/dates.ts';
import { ownFolders } from '../../core/store/rules/own-folders.ts';
import { listPages } from '../../core/store/rules/store.ts';
import { linesOf, type UsagePlace, usagePage } from './byte-hours.ts';
import type { ByteHourPorts, UsageFiles } from './ports.ts';
import { hourMs, hourName } from './rules/byte-hours.ts';

/** Of a file, which ends with a page: some 50,000 records. Two are in memory at once. */
export const fileCharactersMax = 8 * 1024 ** 2;
const pageRecords = 1000;

/** Bills need a year. The bucket's lifecycle removes what is two days older (lib/data.ts). */
const keptMs = 400 * dayMs;

/** Without a number and an ending. In the order of time. */
export const usageFileName = (startMs: number): string =>
  `${ownFolders.usage}/${hourName(startMs).slice(0, -1).replaceAll(/[-T]/g, '/')}`;

/**
 * Writes an hour as files. What was written is replaced by the same. The first file comes last: with it, the hour is whole. Then it
 * removes the oldest; what it fails at, the next hour does.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function writeHour(
  deps: Pick<CoreDeps, 'ledger' | 'clock' | 'log'> & ByteHourPorts & UsageFiles,
  startMs: number,
): Promise<void> {
  const hour = { fromMs: startMs, toMs: startMs + hourMs, limit: pageRecords };
  const put = (number: string, text: string) =>
    deps.archives.put(`${usageFileName(startMs)}${number}.jsonl`, Buffer.from(text));
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
  await removeOld(deps).catch((error) => deps.log.warn('old hours not removed', { error }));
}

async function removeOld({ listing, store, clock }: Pick<CoreDeps, 'clock'> & UsageFiles): Promise<void> {
  const nowMs = clock.nowMs();
  const kept = usageFileName(nowMs - keptMs);
  for await (const page of listPages(listing, { prefix: `${ownFolders.usage}/` })) {
    const keys = [...Array(page.keyCount).keys()].map(page.keyAt, page).filter((key) => key < kept);
    for (const error of (await store.delete(keys, { deadlineMs: nowMs + deleteRunMs })).values()) throw error;
    if (keys.length < page.keyCount) return;
  }
}
