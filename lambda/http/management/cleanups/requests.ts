import * as z from 'zod';
import { prefixBytes, prefixesMax } from '../../../domain/cleanup/prefixes.ts';

/** In milliseconds. */
export const day = 24 * 60 * 60 * 1000;

/** Ten years. */
const minAgeDaysMax = 3650;
export const minAgeDaysDefault = 7;

/** Nothing can be said of a clean-up that is opened. */
export const openCleanupBody = z.strictObject({}).meta({ id: 'OpenCleanup' });

const keepSet = {
  objects: z
    .int()
    .min(0)
    .max(prefixesMax, `must be at most ${prefixesMax}`)
    .meta({
      description: `Objects to which some commit points. The file has ${prefixBytes} bytes for each: the first of its oid.`,
    }),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits')
    .meta({ description: 'Of the file.' }),
};

export const keepSetBody = z.strictObject(keepSet).meta({ id: 'KeepSet' });

export const cleanupRunBody = z
  .strictObject({
    keepSet: z.strictObject(keepSet).meta({ description: 'As it was sent.' }),
    dryRun: z.boolean().optional().meta({ default: true, description: 'Only tell what would be deleted.' }),
    force: z
      .boolean()
      .optional()
      .meta({ default: false, description: 'Delete, though it is more than half of the bytes.' }),
    minAgeDays: z
      .int()
      .min(0)
      .max(minAgeDaysMax)
      .optional()
      .meta({ default: minAgeDaysDefault, description: 'Keep what was stored in as many days.' }),
  })
  .meta({ id: 'CleanupRun' });
