import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { isTenantName, repoNamed } from '../../core/rules/names.ts';
import { overTls, problemAnswer, type Response } from '../api/http.ts';
import { type AnyRouteKey, methodsOf, type Route, routeOf } from '../api/route-match.ts';
import type { HttpHandler } from '../aws/function.ts';
import { routeProblems } from '../contract/route-problems.ts';
import { lfsError } from '../lfs/http.ts';
import { lfsUrlWrong, methodNotAllowed, notAnEndpoint } from '../lfs/messages.ts';

/**
 * The `$default` route: a path that is no route, or a method that its route does not have.
 *
 * @param routeKeys of all routes.
 */
export function create(routeKeys: readonly AnyRouteKey[]): HttpHandler {
  const routes = routeKeys.map(routeOf);
  const known = { routes, endpoints: endpointsOf(routes) };
  return async (event) => overTls(event, refusalOf(event, known));
}

interface Known {
  readonly routes: readonly Route[];
  readonly endpoints: readonly (readonly string[])[];
}

function refusalOf(event: APIGatewayProxyEventV2, { routes, endpoints }: Known): Response {
  const { rawPath, requestContext } = event;
  const { requestId, http } = requestContext;
  const lfs404 = (message: string) => lfsError({ statusCode: 404, message, requestId });
  const isLfs = rawPath.includes(lfsUrlEnd);
  // API Gateway hands over the path decoded, so one with an encoded slash may look like a route.
  const methods = methodsOf(routes, rawPath.split('/'));
  if (methods.length > 0 && !methods.some((method) => method === http.method)) {
    const allow = methods.join(', ');
    const message = methodNotAllowed(allow);
    return isLfs
      ? lfsError({ statusCode: 405, message, requestId }, { allow })
      : refused('method-not-allowed', message, { allow });
  }
  const endpoint = methods.length === 0 ? endpointOf(rawPath, endpoints) : undefined;
  if (endpoint && (isLfs || endpoint.mayBeLfs)) return lfs404(lfsUrlWrong(endpoint.lfsUrl, endpoint.repo));
  if (!isLfs) return refused('not-found', 'Route not found.');
  const [before = ''] = rawPath.split(lfsUrlEnd);
  return lfs404(notAnEndpoint(rawPath, repoIn(before.split('/').filter(isName))));
}

/** Without the table of all problems, which is a third of what this function would load. */
const refused = (code: keyof typeof routeProblems, detail: string, headers?: Record<string, string>) =>
  problemAnswer({ code, ...routeProblems[code] }, detail, headers);

const lfsUrlEnd = '/info/lfs';
const isName = (segment: string) => segment !== '';

/** What git-lfs adds to `lfs.url`, in segments, the longest first. */
const endpointsOf = (routes: readonly Route[]) =>
  routes
    .flatMap(({ path }) => path.split(`${lfsUrlEnd}/`).slice(1))
    .map((end) => end.split('/'))
    .sort((a, b) => b.length - a.length);

/**
 * The path of the `lfs.url` by which a client asked for an endpoint, and `/tenant/repo` that it means, if that shows.
 *
 * @returns undefined: it's something else.
 */
function endpointOf(path: string, endpoints: Known['endpoints']) {
  const segments = path.split('/').filter(isName);
  const end = endpoints.find((each) =>
    each.every((name, index) => {
      const segment = segments.at(index - each.length);
      return segment !== undefined && (name.startsWith('{') || name === segment);
    }),
  );
  if (!end) return undefined;
  const before = segments.slice(0, -end.length);
  const infoAt = before.findIndex((name, index) => name === 'info' && before[index + 1] === 'lfs');
  const names = before.slice(0, infoAt < 0 ? undefined : infoAt);
  const asked = `/${segments.slice(-end.length).join('/')}`;
  while (names.length > 2 && /^(info|lfs)$/.test(names.at(-1) ?? '')) names.pop();
  return {
    lfsUrl: path.endsWith(asked) ? path.slice(0, -asked.length) : path,
    repo: repoIn(names),
    mayBeLfs: isTenantName(names[0]?.toLowerCase() ?? 'a'),
  };
}

/** Without the folders or groups that some servers have between the two. */
function repoIn(names: readonly string[]): string | undefined {
  const [tenant = '', repo = ''] = [names[0]?.toLowerCase(), names.slice(1).at(-1)];
  return isTenantName(tenant) && repoNamed(repo) !== undefined ? `/${tenant}/${repo}` : undefined;
}
