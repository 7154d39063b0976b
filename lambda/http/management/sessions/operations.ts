import { noQuery } from '../../../api/contract/fields.ts';
import { json } from '../../../api/http.ts';
import {
  anyAccess,
  holderAccess,
  noteUse,
  sessionAccess,
  setSessionCookie,
} from '../../../api/management/access.ts';
import { beginSession, endSession } from '../../../use-cases/access/session.ts';
import { noBody, type Operations, operation } from '../operation.ts';
import { sessionBody } from './bodies.ts';

/** The one answer that holds a session. It changes nothing of a tenant, so it is in no audit, but in the log. */
const signIn = operation(
  { access: holderAccess, query: noQuery, body: noBody },
  async (deps, { token, event }) => {
    const [{ value, session }] = await Promise.all([beginSession(deps, { token }), noteUse(deps, { token })]);
    deps.log.info('session begun', {
      tenant: token?.tenant ?? null,
      tokenId: token?.tokenId ?? null,
      sessionId: session.sessionId,
    });
    const maxAgeMs = session.expiresAtMs - session.createdAtMs;
    const cookies = [setSessionCookie(event, { value, maxAgeMs })];
    return { ...json(201, sessionBody({ token, session })), cookies };
  },
);

const whoAmI = operation({ access: anyAccess, query: noQuery, body: noBody }, async (_deps, holder) =>
  json(200, sessionBody(holder)),
);

const signOut = operation(
  { access: sessionAccess, query: noQuery, body: noBody },
  async (deps, { session, event }) => {
    await endSession(deps, { session });
    return { statusCode: 204, cookies: [setSessionCookie(event, { value: '', maxAgeMs: 0 })] };
  },
);

export const sessionOperations = {
  'GET /v1/session': whoAmI,
  'POST /v1/session': signIn,
  'DELETE /v1/session': signOut,
} satisfies Operations;
