import * as z from 'zod';
import { noForecastReasons } from '../../../domain/forecast.ts';
import { bytes, time } from '../fields.ts';

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

const lastRefusalSchema = z
  .object({
    at: time,
    repo: z.string(),
    user: z.string().nullable().meta({ description: 'Owner of the token. null: unknown.' }),
    files: z.int().min(0).meta({ description: 'Refused files.' }),
    bytes: bytes.meta({ description: 'Their size.' }),
    shortBytes: bytes.meta({ description: "Missing space: the number in git's message." }),
    limit: z.enum(['tenant', 'repo']).meta({ description: 'Limit that refused them.' }),
  })
  .meta({ id: 'LastRefusal' });

export const lastRefusalsSchema = z.array(lastRefusalSchema).meta({
  description:
    "Refused pushes of the last 24 hours, up to 5, the newest first. A user's retries in one repo are one push.",
});

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
    lastRefusals: lastRefusalsSchema,
  })
  .meta({ id: 'History' });

export type ForecastBody = z.output<typeof forecastSchema>;
export type LastRefusalBody = z.output<typeof lastRefusalSchema>;
export type HistoryBody = z.output<typeof historySchema>;
