export interface RequestLimits {
  /** Time to open a connection. */
  readonly connectMs: number;
  /** Time from an attempt's start to the head of its answer, and the longest pause within the answer. */
  readonly answerMs: number;
  /** Parallel connections. */
  readonly socketsMax?: number;
}

/**
 * The `requestHandler` options of every SDK client, so that each attempt ends, and its connection with it. The caller
 * sets the number of attempts. A call then ends within attempts × `answerMs` and the pauses between them, unless a
 * peer keeps sending.
 */
export function requestHandler({ connectMs, answerMs, socketsMax = 50 }: RequestLimits) {
  const agent = { keepAlive: true, maxSockets: socketsMax };
  return {
    httpAgent: agent,
    httpsAgent: agent,
    connectionTimeout: connectMs,
    requestTimeout: answerMs,
    // Without it, the SDK logs a warning when the time is over, and waits on.
    throwOnRequestTimeout: true,
    // The request's own timeout ends with the head of the answer.
    socketTimeout: answerMs,
  };
}
