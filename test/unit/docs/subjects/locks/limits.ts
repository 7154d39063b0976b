import { lockPageMax, lockPathCharactersMax } from '../../../../../lambda/subjects/locks/rules/locks.ts';

export const locksLimits = {
  'Push and fetch': {
    'Characters in the path of a file lock': lockPathCharactersMax,
    'File locks on a page': lockPageMax,
  },
};
