import { dayAfter, dayOf } from '../../lambda/core/rules/dates.ts';
import type { HistoryDay } from '../../lambda/subjects/history/rules/history.ts';
import type { Deps } from '../deps.ts';

/** A year before a tenant's first day, which is shown as sample data. */
export const putSampleDays =
  ({ history, clock }: Pick<Deps, 'history' | 'clock'>) =>
  ({ tenant, limitBytes }: { tenant: string; limitBytes: number }): Promise<void> => {
    const atMs = clock.nowMs();
    return history.putSample({ tenant, days: sampleDays(dayOf(atMs), limitBytes), atMs });
  };

const sampleDayCount = 365;
const mib = 1024 ** 2;

/** The year before a day: pushes on most days, two clean-ups, and a limit that was raised. */
function sampleDays(before: string, limitBytesNow: number): HistoryDay[] {
  return Array.from({ length: sampleDayCount }, (_, index) => {
    const pushedMiB = 120 + 18 * Math.floor(index / 7) + 3 * Math.min(index % 7, 5);
    const deletedMiB = (index < 150 ? 0 : 170) + (index < 280 ? 0 : 160);
    const storedBytes = (pushedMiB - deletedMiB) * mib;
    return {
      day: dayAfter(before, index - sampleDayCount),
      storedBytes,
      objectCount: 3 * (pushedMiB - deletedMiB),
      maxStoredBytes: storedBytes,
      limitBytes: index < 200 ? limitBytesNow / 2 : limitBytesNow,
      refusals: 0,
      repoRefusals: 0,
    };
  });
}
