import { describe } from 'vitest';
import { marksEnd } from '../hosts/marks-end.ts';

describe('that a repo is public', () =>
  marksEnd(
    ({ publicReads }) => publicReads,
    (mark) => ({ ...mark, monthlyLimitBytes: 1 }),
  ));
