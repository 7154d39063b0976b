/** Parallel connections. */
const socketsMax = 50;

/**
 * The `requestHandler` options of the SDK's client, so that each attempt ends, and its connection with it. A call then
 * ends within attempts × `answerMs` and the pauses between them, unless a peer keeps sending.
 *
 * @param limits.connectMs time to open a connection.
 * @param limits.answerMs time from an attempt's start to the head of its answer, and the longest pause within it.
 */
export function requestHandler({ connectMs, answerMs }: { connectMs: number; answerMs: number }) {
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
