import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { header } from './request.ts';

export type Response = APIGatewayProxyStructuredResultV2;

/** An answer with a JSON body. Nothing is cached unless a header says so. */
export function answer(
  statusCode: number,
  contentType: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return {
    statusCode,
    headers: {
      'content-type': contentType,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
    body: JSON.stringify(body),
  };
}

/** An answer of the management API. */
export function json(
  statusCode: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return answer(statusCode, 'application/json', body, headers);
}

export function noContent(): Response {
  return { statusCode: 204 };
}

/** For a year, browsers ask this host by TLS alone. `npm start` has none. */
const strictTransport = 'max-age=31536000';

/** @see https://www.rfc-editor.org/rfc/rfc6797 */
export function overTls(event: APIGatewayProxyEventV2, response: Response): Response {
  if (header(event, 'x-forwarded-proto') !== 'https') return response;
  return { ...response, headers: { ...response.headers, 'strict-transport-security': strictTransport } };
}
