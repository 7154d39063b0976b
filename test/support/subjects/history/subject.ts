import { type Fill, path, tenant } from '../../fill.ts';

/** What the table keeps of this subject. */
export const historyFill = {
  history: async ({ history }, atMs) => {
    const count = { tenant, atMs, storedBytes: 1, objectCount: 1, limitBytes: 1 };
    await history.note({ ...count, epoch: 1, highestBytes: 1, highestUsedBytes: 1 });
    await history.noteWeek({ ...path, epoch: 1, week: 2970, storedBytes: 1, atMs });
  },
} satisfies Fill;
