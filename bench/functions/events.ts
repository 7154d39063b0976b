import { repo, tenant, token } from './world.ts';

const lfsMediaType = 'application/vnd.git-lfs+json';

/** A request of an HTTP API (payload format 2.0), by default with the tenant's token. */
export function apiEvent(request: {
  routeKey: string;
  path: string;
  body?: unknown;
  query?: Record<string, string>;
  credential?: string;
}) {
  const { routeKey, path, body, query } = request;
  const [method = 'GET'] = routeKey.split(' ');
  const isLfs = path.includes('/info/lfs');
  // API Gateway treats the media type of Git LFS as binary.
  const text = body === undefined ? '' : JSON.stringify(body);
  return {
    version: '2.0',
    routeKey,
    rawPath: path,
    rawQueryString: new URLSearchParams(query).toString(),
    ...(query && { queryStringParameters: query }),
    headers: {
      authorization: `Basic ${Buffer.from(`git:${request.credential ?? token}`).toString('base64')}`,
      accept: isLfs ? lfsMediaType : 'application/json',
      'content-type': isLfs ? `${lfsMediaType}; charset=utf-8` : 'application/json',
      'content-length': String(text.length),
      host: 'lfs.example.com',
      'user-agent': 'git-lfs/3.7.0 (GitHub; linux amd64; go 1.24.4)',
      'x-amzn-trace-id': 'Root=1-67891233-abcdef012345678912345678',
      'x-forwarded-for': '192.0.2.1',
      'x-forwarded-port': '443',
      'x-forwarded-proto': 'https',
    },
    pathParameters: { tenant, repo: `${repo}.git` },
    ...(body !== undefined && { body: isLfs ? Buffer.from(text).toString('base64') : text }),
    isBase64Encoded: isLfs,
    requestContext: {
      accountId: '123456789012',
      apiId: 'bench',
      domainName: 'lfs.example.com',
      domainPrefix: 'lfs',
      http: { method, path, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'git-lfs/3.7.0' },
      requestId: 'bench-request',
      routeKey,
      stage: '$default',
      time: '21/Nov/2026:09:00:00 +0000',
      timeEpoch: Date.now(),
    },
  };
}

/** Messages of a queue, as Lambda delivers them. */
export function queueEvent(bodies: readonly unknown[]) {
  return {
    Records: bodies.map((body, index) => ({
      messageId: `message-${index}`,
      receiptHandle: `receipt-${index}`,
      body: JSON.stringify(body),
      attributes: {
        ApproximateReceiveCount: '1',
        SentTimestamp: String(Date.now()),
        ApproximateFirstReceiveTimestamp: String(Date.now()),
        SenderId: 'bench',
        MessageGroupId: tenant,
      },
      messageAttributes: {},
      md5OfBody: '',
      eventSource: 'aws:sqs',
      eventSourceARN: 'arn:aws:sqs:us-east-1:123456789012:reconcile.fifo',
      awsRegion: 'us-east-1',
    })),
  };
}
