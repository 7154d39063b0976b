/**
 * The table refused a request, did not answer, or throttled it beyond the retries. A write may or may not have
 * happened. The cause is what the SDK threw.
 */
export class LedgerUnavailableError extends Error {
  override readonly name = 'LedgerUnavailableError';
}

/**
 * A newer version wrote this tenant in a format that this one does not know. Nothing was changed: a guess at what its
 * items mean could corrupt the numbers.
 */
export class NewerFormatError extends Error {
  override readonly name = 'NewerFormatError';
}

/** An action was not begun, because nobody could write down that it was. */
export class AuditUnavailableError extends LedgerUnavailableError {}
