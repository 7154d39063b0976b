import * as z from 'zod';
import { day } from '../queries.ts';

export const historyQuery = z.strictObject({
  from: day('The first day, in UTC. Default: 29 days before the last.'),
  to: day('The last day, in UTC. Default: today.'),
});
