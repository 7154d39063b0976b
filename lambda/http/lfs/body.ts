import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { accepts, bodyText, hasContentType, lfsMediaType, type Response } from '../../api/http.ts';
import type { Settings } from '../../rules/settings.ts';
import { formatBytes } from '../../rules/text.ts';
import { lfsError } from './respond.ts';

/** The answer to a client that does not take the media type of the LFS API. undefined: it does. */
export function lfsNotAccepted(event: APIGatewayProxyEventV2): Response | undefined {
  if (accepts(event, lfsMediaType)) return undefined;
  const { requestId } = event.requestContext;
  const message = `Answers are ${lfsMediaType}: accept that media type.`;
  return lfsError({ statusCode: 406, message, requestId });
}

/** The body of an LFS request, once its media types and size are as they must be. */
export function lfsBody(
  settings: Settings,
  event: APIGatewayProxyEventV2,
): { ok: true; body: string } | { ok: false; response: Response } {
  const { requestId } = event.requestContext;
  const refuse = (statusCode: number, message: string) => ({
    ok: false as const,
    response: lfsError({ statusCode, message, requestId }),
  });
  const notAccepted = lfsNotAccepted(event);
  if (notAccepted) return { ok: false, response: notAccepted };
  if (!hasContentType(event, lfsMediaType)) {
    return refuse(415, `The Content-Type must be ${lfsMediaType}.`);
  }
  const body = bodyText(event, settings.bodyBytesMax);
  if (body === undefined) {
    return refuse(
      413,
      `The body is larger than ${formatBytes(settings.bodyBytesMax)}: send fewer objects at once.`,
    );
  }
  return { ok: true, body };
}
