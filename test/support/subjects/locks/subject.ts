import { lockPageMax, lockPathCharactersMax } from '../../../../lambda/subjects/locks/rules/locks.ts';
import { path, type TestedSubject } from '../../subject.ts';

export const locks = {
  fill: {
    locks: ({ locks }, lockedAtMs) =>
      locks.take({
        ...path,
        lock: { id: 'd'.repeat(52), path: 'a.psd', ownerId: 'o', ownerName: 'ada', lockedAtMs },
      }),
  },
  limits: {
    'Push and fetch': {
      'Characters in the path of a file lock': lockPathCharactersMax,
      'File locks on a page': lockPageMax,
    },
  },
} satisfies TestedSubject;
