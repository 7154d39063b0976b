import { type Fill, path } from '../../fill.ts';

/** What the table keeps of this subject. */
export const locksFill = {
  locks: ({ locks }, lockedAtMs) =>
    locks.take({
      ...path,
      lock: { id: 'd'.repeat(52), path: 'a.psd', ownerId: 'o', ownerName: 'ada', lockedAtMs },
    }),
} satisfies Fill;
