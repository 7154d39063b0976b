import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { credential, header } from '../../api/http.ts';

/**
 * The header of a verify action that carries its token. Not `Authorization`: a client with `http.<url>.extraheader`, as
 * CI jobs log in, sends its own beside it, and neither could be told from the other (git-lfs/git-lfs#5593).
 */
export const verifyTokenHeader = 'X-Lfs-Verify-Token';

/** The token of a verify request. `Authorization` had it in actions that were handed out before this header. */
export function verifyToken(event: APIGatewayProxyEventV2): string | undefined {
  return header(event, verifyTokenHeader.toLowerCase()) ?? credential(event);
}
