import { lfsError } from '../http/lfs/respond.ts';
import { problem } from '../http/problems.ts';
import { methodsOf } from '../http/route-match.ts';
import { routes } from '../routes.ts';
import type { HttpHandler } from '../runtime/guard.ts';

/** The `$default` route: a path that is no route, or a method that its route does not have. */
export function create(): HttpHandler {
  return async (event) => {
    const { requestId } = event.requestContext;
    const isLfs = event.rawPath.includes('/info/lfs');
    // API Gateway hands over the path decoded, so one with an encoded slash may look like a route.
    const methods = methodsOf(routes, event.rawPath.split('/'));
    const isOfRoute = methods.some((method) => method === event.requestContext.http.method);
    if (methods.length > 0 && !isOfRoute) {
      const allow = methods.join(', ');
      const message = `This path takes ${allow} alone.`;
      return isLfs
        ? lfsError({ statusCode: 405, message, requestId }, { allow })
        : problem('method-not-allowed', message, { allow });
    }
    return isLfs
      ? lfsError({
          statusCode: 404,
          message: 'There is no such LFS endpoint here.',
          requestId,
        })
      : problem('not-found', 'There is no such route.');
  };
}

export const handler = create();
