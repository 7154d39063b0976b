import { lfsError, problem } from '../http/respond.ts';
import type { HttpHandler } from '../runtime/guard.ts';

/** The `$default` route: whatever matches no other. Locks are among them until they are built. */
export function create(): HttpHandler {
  return async (event) => {
    const { requestId } = event.requestContext;
    return event.rawPath.includes('/info/lfs')
      ? lfsError({ statusCode: 404, message: 'There is no such LFS endpoint here.', requestId })
      : problem(404, 'Not Found', 'There is no such route.');
  };
}

export const handler = create();
