import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Response } from '../../api/http.ts';
import { header } from '../../api/http.ts';
import { requestKeyReused } from '../../api/management/operations.ts';
import { problem } from '../../api/problems.ts';

type RequestKeyHeader =
  | {
      readonly ok: true;
      /** Undefined when the header is not sent. */
      readonly requestKey: string | undefined;
      /** The answer when another request has used the key. */
      readonly reused: () => Response;
    }
  | { readonly ok: false; readonly response: Response };

/**
 * The `Idempotency-Key` header (draft-ietf-httpapi-idempotency-key-header): a request that is repeated with the same
 * key within 24 hours gets the answer of the first one. The draft has the key in quotes; it is taken without them too.
 */
export function requestKey(event: APIGatewayProxyEventV2): RequestKeyHeader {
  const sent = header(event, 'idempotency-key');
  const requestKey = sent?.replace(/^"(.*)"$/, '$1');
  if (requestKey !== undefined && !/^[\x21-\x7e]{1,255}$/.test(requestKey))
    return {
      ok: false,
      response: problem(
        'invalid-idempotency-key',
        'The Idempotency-Key must be 1 to 255 visible ASCII characters, such as a UUID.',
      ),
    };
  return {
    ok: true,
    requestKey,
    reused: requestKeyReused,
  };
}
