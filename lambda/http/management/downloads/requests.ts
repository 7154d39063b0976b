import * as z from 'zod';
import { isDay } from '../../../domain/calendar.ts';
import { cursorPattern, decodeCursor } from '../cursor.ts';
import { ofRepo, pageOf } from '../queries.ts';

const dayRule = 'must be a day such as 2026-11-21';

const day = (description: string) =>
  z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}$/, dayRule)
    .refine(isDay, dayRule)
    .optional()
    .meta({ description, format: 'date' });

export const downloadQuery = pageOf(cursorPattern, decodeCursor)
  .extend(ofRepo)
  .extend({
    from: day('The first day, in UTC. Default: the first of this month.'),
    to: day('The last day, in UTC. Default: today.'),
  });
