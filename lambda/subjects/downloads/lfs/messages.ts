import * as z from 'zod';
import type { SwitchedQueue } from '../../../core/rules/jobs.ts';
import { isOid, isRepoName, isTenantName } from '../../../core/rules/names.ts';
import { isByteCount } from '../../../core/rules/sizes.ts';

/**
 * Copies what users got from their git host, or import: by two signed URLs, one of the host and one of ours, which the batch
 * got and made. So who copies needs no token, and no right but to note what became of it. Signed is also which bytes the
 * store takes.
 */

/** A job for a copy. Its URLs are secrets: they're in no log. */
export const copyMessage = z.object({
  tenant: z.string().refine(isTenantName),
  repo: z.string().refine(isRepoName),
  oid: z.string().refine(isOid),
  sizeBytes: z.number().refine(isByteCount),
  /** Of the host. It needs no headers. */
  from: z.url({ protocol: /^https?$/ }),
  to: z.object({ href: z.url({ protocol: /^https?$/ }), header: z.record(z.string(), z.string()) }),
  /** One of the URLs expires then. */
  untilMs: z.number(),
});

export type CopyMessage = Readonly<z.output<typeof copyMessage>>;
export type CopyQueue = SwitchedQueue<CopyMessage>;
