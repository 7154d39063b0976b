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

/** Where somebody may have something copied from, as far as the text tells: a URL without a login. */
export const hrefPattern = /^https?:\/\/[^/?#@\s]+\/[\x21-\x7e]*$/;
export const hrefCharactersMax = 4_096;
export const isHref = (text: string) =>
  text.length <= hrefCharactersMax && hrefPattern.test(text) && URL.canParse(text);

/** What is kept of a copy that was asked for, until it's made. */
export interface CopyNote {
  readonly oid: string;
  /** Until then it's being copied, unless it failed. */
  readonly untilMs: number;
  /** Why it isn't tried any more. null: nobody has given up. */
  readonly failed: string | null;
}

/** How long a note is kept after that. */
export const keptForMs = 24 * 3_600_000;

/** Notes of a repo that are looked at for whoever asks about it. */
export const copiesShownMax = 1_000;

/** Whether somebody copies it. A queue that lost its message says so too, until its URLs have expired. */
export const isCopying = ({ untilMs, failed }: CopyNote, nowMs: number) =>
  failed === null && nowMs <= untilMs;

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
