import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';

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
    headers: { 'content-type': contentType, 'cache-control': 'no-store', ...headers },
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
