import * as z from 'zod';
import { cursorPattern, decodeCursor } from '../cursor.ts';
import { ofRepo, pageOf } from '../queries.ts';

const dayRule = 'must be a day such as 2026-11-21';

const day = (description: string) => z.iso.date(dayRule).optional().meta({ description });

export const downloadQuery = pageOf(cursorPattern, decodeCursor)
  .extend(ofRepo)
  .extend({
    from: day('The first day, in UTC. Default: the first of this month.'),
    to: day('The last day, in UTC. Default: today.'),
  });
