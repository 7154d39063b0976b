import * as z from 'zod';
import { noForecastReasons } from '../../../domain/forecast.ts';
import { bytes } from '../fields.ts';

export const forecastSchema = z
  .object({
    fullOn: z.iso.date().nullable().meta({
      description:
        'The day (UTC) on which the tenant reaches its limit if it goes on growing like this; today if it has. null: see reason.',
    }),
    reason: z
      .enum(noForecastReasons)
      .nullable()
      .meta({ description: 'Why there is no day. null: there is one.' }),
    bytesPerDay: z.int().nullable().meta({
      description: 'The median growth of the last 60 days. null: fewer than 7 days are known.',
    }),
  })
  .meta({ id: 'Forecast' });

export const historySchema = z
  .object({
    tenant: z.string(),
    limitBytes: bytes.nullable().meta({ description: 'Now. null: unlimited.' }),
    from: z.iso.date(),
    to: z.iso.date(),
    days: z.array(
      z.object({
        day: z.iso.date(),
        storedBytes: bytes.meta({ description: 'As last counted on the day.' }),
        objectCount: z.int().min(0),
        maxStoredBytes: bytes.meta({ description: 'The most that was counted on the day.' }),
        refusals: z.int().min(0).meta({
          description:
            'Batches of which something was refused for the limit. At least these, if a client was refused in a loop.',
        }),
        downloads: z
          .object({ bytes, objects: z.int().min(0) })
          .nullable()
          .meta({ description: 'What was offered for download. null: not known.' }),
        carried: z.boolean().meta({
          description:
            'Nothing was counted on this day, because nothing changed: the figures are those of the day before.',
        }),
      }),
    ),
    forecast: forecastSchema,
  })
  .meta({ id: 'History' });

export type ForecastBody = z.output<typeof forecastSchema>;
export type HistoryBody = z.output<typeof historySchema>;
