/** The response that is sent. */
export interface FrontResponse {
  readonly statusCode: number;
  /** A list for a header that is sent several times. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer;
}

/** Headers of the connection, which the front sets itself. */
const connectionHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

/** API Gateway's type for a body without one. */
const defaultType = 'text/plain;charset=UTF-8';

/**
 * Reads a function's result as an HTTP API does: with a `statusCode` it is the response, anything else is the JSON body
 * of a 200.
 *
 * @returns undefined if HTTP cannot carry the result; the caller then answers 500.
 */
export function toResponse(result: unknown): FrontResponse | undefined {
  if (typeof result !== 'object' || result === null || !('statusCode' in result)) return inferred(result);
  const { statusCode } = result;
  if (typeof statusCode !== 'number' || !Number.isInteger(statusCode)) return undefined;
  if (statusCode < 200 || statusCode > 599) return undefined;
  const bodyText = 'body' in result && typeof result.body === 'string' ? result.body : '';
  const isBase64Encoded = 'isBase64Encoded' in result && result.isBase64Encoded === true;
  const carriesBody = statusCode !== 204 && statusCode !== 304;
  const headers: Record<string, string | string[]> = carriesBody ? { 'content-type': defaultType } : {};
  for (const [name, value] of Object.entries(('headers' in result ? result.headers : undefined) ?? {})) {
    const lowerName = name.toLowerCase();
    if (!connectionHeaders.has(lowerName)) headers[lowerName] = String(value);
  }
  if ('cookies' in result && Array.isArray(result.cookies))
    headers['set-cookie'] = result.cookies.map(String);
  const body = Buffer.from(carriesBody ? bodyText : '', isBase64Encoded ? 'base64' : 'utf8');
  return { statusCode, headers, body };
}

/** A response of the gateway itself: `{"message": …}`. */
export function gatewayResponse(statusCode: number, message: string): FrontResponse {
  return {
    statusCode,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify({ message })),
  };
}

function inferred(result: unknown): FrontResponse {
  const text = typeof result === 'string' ? result : (JSON.stringify(result) ?? 'null');
  return { statusCode: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(text) };
}
