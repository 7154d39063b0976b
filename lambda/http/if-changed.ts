import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { sha256Hex } from '../domain/hash.ts';
import { header } from './request.ts';
import type { Response } from './respond.ts';

/**
 * Names the content of an answer, and leaves it out if the client has it: who looks again and again need not be sent the
 * same. It is told apart by its bytes alone, so an answer must not name the time of the request.
 */
export function ifChanged(event: APIGatewayProxyEventV2, response: Response): Response {
  const etag = `"${sha256Hex(response.body ?? '').slice(0, 32)}"`;
  const headers = { ...response.headers, etag };
  const known = (header(event, 'if-none-match') ?? '')
    .split(',')
    .map((each) => each.trim().replace(/^W\//, ''));
  if (!known.includes(etag)) return { ...response, headers };
  const { 'content-type': _type, ...kept } = headers as Record<string, string>;
  return { statusCode: 304, headers: kept };
}
