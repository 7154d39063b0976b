import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { PackedBodies, PackedConsole, PackedFile } from '../../core/rules/packed-console.ts';
import { gitHostIdPattern } from '../access/rules/host-user.ts';
import { header, type Response } from './http.ts';
import { problem } from './problems.ts';

/** Nothing but what this origin serves runs in the page, and no other page can frame it. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const pageHeaders = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

/** Their names change with their content. */
const assetHeaders = { 'cache-control': 'public, max-age=31536000, immutable' };

/** The page of the console, or one of its assets. */
export function answerConsole(event: APIGatewayProxyEventV2, packed: PackedConsole): Response {
  const { host } = event.pathParameters ?? {};
  if (host !== undefined && !gitHostIdPattern.test(host)) return problem('not-found', 'Page not found.');
  if (event.routeKey !== 'GET /assets/{file}') return fileAnswer(event, packed.page, pageHeaders);
  const name = event.pathParameters?.['file'] ?? '';
  const file = Object.hasOwn(packed.assets, name) ? packed.assets[name] : undefined;
  return file ? fileAnswer(event, file, assetHeaders) : problem('not-found', 'File not found.');
}

function fileAnswer(
  event: APIGatewayProxyEventV2,
  { type, etag, bodies }: PackedFile,
  own: Readonly<Record<string, string>>,
): Response {
  const headers = { ...own, etag: `"${etag}"`, vary: 'accept-encoding', 'x-content-type-options': 'nosniff' };
  if (header(event, 'if-none-match')?.includes(`"${etag}"`)) return { statusCode: 304, headers };
  const encoding = bestEncoding(header(event, 'accept-encoding') ?? '', bodies);
  return {
    statusCode: 200,
    headers: {
      ...headers,
      'content-type': type,
      ...(encoding !== 'identity' && { 'content-encoding': encoding }),
    },
    body: bodies[encoding] ?? bodies.identity,
    isBase64Encoded: true,
  };
}

/** The smallest form that the client takes. */
function bestEncoding(accepted: string, bodies: PackedBodies): keyof PackedBodies {
  const taken = new Set(
    accepted
      .toLowerCase()
      .split(',')
      .map((part) => part.trim())
      .filter((part) => !/;\s*q=0(\.0*)?$/.test(part))
      .map((part) => part.split(';')[0]?.trim()),
  );
  return (['br', 'gzip'] as const).find((encoding) => taken.has(encoding) && bodies[encoding]) ?? 'identity';
}
