import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';

interface EventParts {
  readonly method?: string;
  readonly path?: string;
  readonly routeKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly pathParameters?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly isBase64Encoded?: boolean;
  readonly domainName?: string;
  readonly stage?: string;
}

export const batchRoute = 'POST /{tenant}/{repo}/info/lfs/objects/batch';

/** An event of an HTTP API (payload 2.0). A test gives the parts that matter to it. */
export function httpEvent(parts: EventParts = {}): APIGatewayProxyEventV2 {
  const { method = 'POST', path = '/', routeKey = '$default', headers = {}, stage = '$default' } = parts;
  const domainName = parts.domainName ?? 'abc123.execute-api.eu-west-1.amazonaws.com';
  return {
    version: '2.0',
    routeKey,
    rawPath: path,
    rawQueryString: '',
    headers,
    ...(parts.pathParameters && { pathParameters: parts.pathParameters }),
    ...(parts.body !== undefined && { body: parts.body }),
    isBase64Encoded: parts.isBase64Encoded ?? false,
    requestContext: {
      accountId: '000000000000',
      apiId: 'abc123',
      domainName,
      domainPrefix: 'abc123',
      http: { method, path, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'git-lfs/3.3.0' },
      requestId: 'request-1',
      routeKey,
      stage,
      time: '21/Nov/2026:05:00:00 +0000',
      timeEpoch: 1_795_237_200_000,
    },
  };
}

export const noContext = {} as Context;
