import type { SignedRequest } from '../../store/rules/store.ts';

/** A message of the queue of copies. Its URLs are secrets: they're in no log. */
export interface CopyMessage {
  readonly tenant: string;
  readonly repo: string;
  readonly oid: string;
  readonly sizeBytes: number;
  /** Of the host. It needs no headers. */
  readonly from: string;
  readonly to: SignedRequest;
  /** One of the URLs expires then. */
  readonly untilMs: number;
}

/** Delivers each message at least once, several at a time. Where nothing copies, it takes none. */
export interface CopyQueue {
  readonly isOn: boolean;
  /** @throws when some were not taken. */
  send(messages: readonly CopyMessage[]): Promise<void>;
}

/** What came of one attempt. */
export type CopyOutcome =
  | { readonly kind: 'copied' }
  /** Another attempt would end the same. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** Copies bytes from one signed URL to another. */
export interface Copier {
  copy(input: Pick<CopyMessage, 'from' | 'to' | 'sizeBytes'> & { stop: AbortSignal }): Promise<CopyOutcome>;
}
