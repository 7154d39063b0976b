import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { overTls, problemAnswer, type Response } from '../api/http.ts';
import { type AnyRouteKey, methodsOf, type Route, routeOf } from '../api/route-match.ts';
import type { HttpHandler } from '../aws/function.ts';
import { routeProblems } from '../contract/route-problems.ts';

/** What a subject answers to requests of its clients that match no route. @returns undefined: it isn't one of theirs. */
export type Unmatched = (routes: readonly Route[]) => (
  event: APIGatewayProxyEventV2,
  /** Whether the path looks like that of a route, and what refuses its method, if that's why. */
  path: { readonly isRoute: boolean; readonly refusal?: { message: string; allow: string } | undefined },
) => Response | undefined;

/**
 * The `$default` route: a path that is no route, or a method that its route does not have.
 *
 * @param routeKeys of all routes.
 */
export function create(
  routeKeys: readonly AnyRouteKey[],
  subjects: Readonly<Record<string, Unmatched>>,
): HttpHandler {
  const routes = routeKeys.map(routeOf);
  const asked = Object.values(subjects).map((unmatched) => unmatched(routes));
  return async (event) => {
    // API Gateway hands over the path decoded, so one with an encoded slash may look like a route.
    const methods = methodsOf(routes, event.rawPath.split('/'));
    const isRoute = methods.length > 0;
    const allow = methods.join(', ');
    const isOther = isRoute && !methods.some((method) => method === event.requestContext.http.method);
    const refusal = isOther
      ? { message: `Method not allowed. This path accepts ${allow}.`, allow }
      : undefined;
    const [response] = asked.flatMap((answer) => answer(event, { isRoute, refusal }) ?? []);
    const own = refusal
      ? refused('method-not-allowed', refusal.message, { allow })
      : refused('not-found', 'Route not found.');
    return overTls(event, response ?? own);
  };
}

/** Without the table of all problems, which is a third of what this function would load. */
const refused = (code: keyof typeof routeProblems, detail: string, headers?: Record<string, string>) =>
  problemAnswer({ code, ...routeProblems[code] }, detail, headers);
