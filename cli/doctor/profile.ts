import { z } from 'zod';

/** What was found to hold. Null: not probed, or the check could not be made. Older versions have written more. */
const factsSchema = z.object({
  /** A PUT with other bytes than the signed SHA-256 stores nothing. */
  checksumEnforced: z.boolean().nullable(),
  /** A PUT of another length than the signed one stores nothing, even with the right SHA-256. */
  lengthEnforced: z.boolean().nullable(),
  startAfter: z.enum(['exact', 'inside-prefix', 'wrong']).nullable(),
  /** `ascii`: by bytes, but only among ASCII keys. */
  listOrder: z.enum(['utf8', 'ascii', 'other']).nullable(),
  listConsistency: z.enum(['strong', 'eventual']).nullable(),
  /** Largest single PUT that was accepted, in bytes. */
  maxPutBytes: z.number().int().nullable(),
  partRules: z.object({ multipart: z.boolean().nullable(), uploadPartCopy: z.boolean().nullable() }),
  /** The store's clock minus that of the machine that probed. */
  clockSkewMs: z.number().int().nullable(),
});

export type StoreFacts = z.infer<typeof factsSchema>;

/** What `lfs-quota doctor --profile FILE` writes: what a store is known to do, and when it was seen. */
export const storeProfileSchema = z.strictObject({
  formatVersion: z.literal(1),
  probedAt: z.iso.datetime(),
  /** Null: AWS. */
  endpoint: z.string().nullable(),
  region: z.string(),
  bucket: z.string(),
  usable: z.boolean(),
  /** Ids of the checks that failed. */
  failed: z.array(z.string()),
  /** Ids of the checks with a warning. */
  warnings: z.array(z.string()),
  holds: factsSchema,
});

export type StoreProfile = z.infer<typeof storeProfileSchema>;
