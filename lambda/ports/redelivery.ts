/** When a message of the queue of recounts, whose recount failed, is delivered again. */
export interface Redelivery {
  /**
   * @param input.receiptHandle of the delivery that failed.
   * @throws where the queue does not answer: the message then comes again when the queue's own time is over.
   */
  delay(input: { receiptHandle: string; delayMs: number }): Promise<void>;
}
