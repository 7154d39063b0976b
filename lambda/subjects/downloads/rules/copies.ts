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

/** Why a host offers an object not. */
export type UpstreamFailure = 'absent' | 'rejected' | 'limited' | 'unavailable';
