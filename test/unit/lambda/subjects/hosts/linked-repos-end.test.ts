import { describe } from 'vitest';
import { marksEnd } from './marks-end.ts';

describe('the link of a repo', () =>
  marksEnd(
    ({ linkedRepos }) => linkedRepos,
    (mark) => ({ ...mark, host: 'github', name: 'acme/game', linkedId: null }),
  ));
