import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { routeProblems } from '../api/contract/route-problems.ts';
import { overTls, problemAnswer, type Response } from '../api/http.ts';
import { lfsError } from '../api/lfs/http.ts';
import { lfsUrlIncomplete, methodNotAllowed, notAnEndpoint } from '../api/lfs/messages.ts';
import { methodsOf } from '../api/route-match.ts';
import type { HttpHandler } from '../aws/function.ts';
import { routes } from '../routes.ts';
import { isTenantName, repoNamed } from '../rules/names.ts';

/** The `$default` route: a path that is no route, or a method that its route does not have. */
export function create(): HttpHandler {
  return async (event) => overTls(event, refusalOf(event));
}

function refusalOf(event: APIGatewayProxyEventV2): Response {
  const { requestId } = event.requestContext;
  const isLfs = event.rawPath.includes('/info/lfs');
  const misplaced = withoutInfoLfs(event.rawPath);
  if (misplaced !== undefined) {
    return lfsError({ statusCode: 404, message: lfsUrlIncomplete(misplaced), requestId });
  }
  // API Gateway hands over the path decoded, so one with an encoded slash may look like a route.
  const methods = methodsOf(routes, event.rawPath.split('/'));
  const isOfRoute = methods.some((method) => method === event.requestContext.http.method);
  if (methods.length > 0 && !isOfRoute) {
    const allow = methods.join(', ');
    const message = methodNotAllowed(allow);
    return isLfs
      ? lfsError({ statusCode: 405, message, requestId }, { allow })
      : refused('method-not-allowed', message, { allow });
  }
  return isLfs
    ? lfsError({ statusCode: 404, message: notAnEndpoint, requestId })
    : refused('not-found', 'Route not found.');
}

/** Without the table of all problems, which is a third of what this function would load. */
const refused = (code: keyof typeof routeProblems, detail: string, headers?: Record<string, string>) =>
  problemAnswer({ code, ...routeProblems[code] }, detail, headers);

/** `/tenant/repo` of a request that git-lfs makes if `lfs.url` lacks its end. undefined: it's something else. */
function withoutInfoLfs(path: string): string | undefined {
  const [, tenant = '', repo = '', rest] =
    /^\/([^/]+)\/([^/]+)\/(objects\/batch|locks(?:\/.*)?)$/.exec(path) ?? [];
  if (rest === undefined || !isTenantName(tenant) || repoNamed(repo) === undefined) return undefined;
  return `/${tenant}/${repo}`;
}

export const handler = create();
