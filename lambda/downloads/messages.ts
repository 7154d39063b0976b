import * as z from 'zod';
import { isCorrelationId } from '../rules/clock-and-log.ts';
import { isOid, isRepoName, isTenantName } from '../rules/names.ts';
import { isByteCount } from '../rules/sizes.ts';
import { parseJson } from '../rules/text.ts';

/**
 * Copies what users got from their git host, or import: by two signed URLs, one of the host and one of ours, which the batch
 * got and made. So who copies needs no token, and no right but to note what became of it. Signed is also which bytes the
 * store takes.
 */

/** A message of the queue of copies. Its URLs are secrets: they're in no log. */
const copyMessage = z.object({
  tenant: z.string().refine(isTenantName),
  repo: z.string().refine(isRepoName),
  oid: z.string().refine(isOid),
  sizeBytes: z.number().refine(isByteCount),
  /** Of the host. It needs no headers. */
  from: z.url({ protocol: /^https?$/ }),
  to: z.object({ href: z.url({ protocol: /^https?$/ }), header: z.record(z.string(), z.string()) }),
  /** One of the URLs expires then. */
  untilMs: z.number(),
  // For the log alone.
  correlationId: z.string().refine(isCorrelationId).optional().catch(undefined),
});

type DecodedCopyMessage = Readonly<z.output<typeof copyMessage>>;
export type CopyMessage = Omit<DecodedCopyMessage, 'correlationId'>;

/** @returns undefined if the body is no such message. */
export function decodeCopyMessage(body: string): DecodedCopyMessage | undefined {
  return copyMessage.safeParse(parseJson(body)).data;
}

/** Delivers each message at least once, several at a time. Where nothing copies, it takes none. */
export interface CopyQueue {
  readonly isOn: boolean;
  /** @throws when some were not taken. */
  send(messages: readonly CopyMessage[]): Promise<void>;
}
