import * as z from 'zod';
import { bytes, count, stringOrNull, time } from './fields.ts';

export const forecastSchema = z
  .object({
    fullOn: z.iso
      .date()
      .nullable()
      .describe(
        'The day (UTC) the tenant reaches its limit at this growth; today if it has. null: see reason.',
      ),
    reason: z
      .enum(['unlimited', 'not-scanned', 'too-few-days', 'not-growing', 'beyond-two-years'])
      .nullable()
      .describe("Why fullOn is null. null: it isn't."),
    bytesPerDay: z
      .int()
      .nullable()
      .describe('The median growth of the last 60 days. null: fewer than 7 days are known.'),
  })
  .meta({ id: 'Forecast' });

const lastRefusalSchema = z
  .object({
    at: time,
    repo: z.string(),
    user: stringOrNull.describe('Owner of the token. null: unknown.'),
    files: count.describe('Rejected files.'),
    atLeast: z.boolean().describe('Whether the push has more files: git-lfs sends up to 100 in a request.'),
    bytes: bytes.describe('Their size.'),
    shortBytes: bytes.describe("Missing space: the number in Git's message."),
    limit: z.enum(['tenant', 'repo']).describe('The limit that rejected them.'),
  })
  .meta({ id: 'LastRefusal' });

export const lastRefusalsSchema = z
  .array(lastRefusalSchema)
  .describe(
    "Rejected pushes of the last 24 hours, up to 5, the newest first. A user's retries in one repo count as one.",
  );

export type ForecastBody = z.output<typeof forecastSchema>;

/** What a subscription has of the past and the future, if a subject knows it. */
export interface Outlook {
  readonly forecast?: ForecastBody;
  readonly lastRefusals?: z.output<typeof lastRefusalsSchema>;
}
