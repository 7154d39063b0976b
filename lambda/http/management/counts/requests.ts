import * as z from 'zod';

export const steerCountBody = z
  .strictObject({
    state: z.enum(['running', 'paused', 'cancelled']).meta({
      description:
        'paused: no shard is scanned until it is running again. cancelled: the recount that is under way is given up.',
    }),
  })
  .meta({ id: 'SteerCount' });
