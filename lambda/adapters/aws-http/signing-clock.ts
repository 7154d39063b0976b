import { AnswerError } from './answers.ts';

/** Codes of refusals that may be for the time of the signature. */
const timeCodes: ReadonlySet<string> = new Set([
  'InvalidSignatureException',
  'RequestExpired',
  'RequestInTheFuture',
  'RequestTimeTooSkewed',
  'SignatureDoesNotMatch',
]);

/** AWS refuses signatures of five minutes ago. */
const skewMinMs = 240_000;

/** The clock by which requests to one service are signed: this machine's, until the service says that it is wrong. */
export class SigningClock {
  #offsetMs = 0;

  nowMs(): number {
    return Date.now() + this.#offsetMs;
  }

  /** Whether a request that failed may pass if it is signed again. If its answer has another time, that one counts. */
  learnsFrom(error: Error): boolean {
    if (!(error instanceof AnswerError) || !timeCodes.has(error.name)) return false;
    const skewMs = error.sentAtMs - this.nowMs();
    if (Math.abs(skewMs) >= skewMinMs) {
      this.#offsetMs += skewMs;
      return true;
    }
    // The clock is right: the request was signed long before it was sent, by a process that froze in between.
    return error.message.startsWith('Signature expired');
  }
}
