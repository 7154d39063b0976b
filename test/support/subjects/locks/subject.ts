import { expect } from 'vitest';
import { create } from '../../../../lambda/subjects/locks/handler.ts';
import {
  lockedBy,
  lockNotFound,
  lockOfAnother,
  repoForLockMissing,
  tooManyLocks,
} from '../../../../lambda/subjects/locks/lfs-messages.ts';
import { lockPageMax, lockPathCharactersMax } from '../../../../lambda/subjects/locks/rules/locks.ts';
import { path, type TestedSubject } from '../../subject.ts';

const lock = { ownerName: 'ada', path: 'art/hero.psd', lockedAtMs: Date.parse('2026-11-26T19:30:00Z') };

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
  lfsMessages: [
    lockedBy(lock),
    lockOfAnother(lock),
    lockNotFound,
    tooManyLocks,
    repoForLockMissing('acme', 'game'),
  ],
  functions: {
    lfsLocks: {
      timeoutSeconds: 25,
      memoryMb: 512,
      variables: ['TABLE'],
      writes: ['link-items', 'lock-items', 'lock-notes', 'token-use'],
      answers: { method: 'POST', path: '/{tenant}/{repo}/info/lfs/locks', statusCode: 401 },
    },
  },
  askedFirst: {
    'push: look for file locks': { create, routeKey: 'POST /{tenant}/{repo}/info/lfs/locks/verify' },
  },
  older: {
    read: async ({ locks }) => {
      const page = await locks.listPage({ tenant: 'acme', repo: 'game', pageSize: 9 });
      expect(page.locks).toHaveLength(1);
    },
  },
} satisfies TestedSubject;
