/** `METHOD /path`, as API Gateway names a route. */
export type AnyRouteKey = `${Method} /${string}`;
type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Route {
  readonly method: Method;
  readonly path: string;
}

export function routeOf(key: AnyRouteKey): Route {
  const [method, path] = key.split(' ') as [Method, string];
  return { method, path };
}

export type RouteMatch<R extends Route = Route> =
  | { readonly kind: 'matched'; readonly route: R; readonly pathParameters: Record<string, string> }
  /** No route: the `$default` function answers. */
  | { readonly kind: 'none' }
  /** The path holds a percent sign that encodes nothing. */
  | { readonly kind: 'malformed' };

/**
 * Finds the route of a request as an HTTP API does: segment by segment, a literal before a variable, and a
 * variable takes exactly one segment that is not empty. `path` is as it was sent; segments are split before
 * they are decoded, so an encoded slash stays inside its parameter.
 */
export function matchRoute<R extends Route>(
  routes: readonly R[],
  request: { method: string; path: string },
): RouteMatch<R> {
  const segments = decodePath(request.path);
  if (segments === undefined) return { kind: 'malformed' };
  let best: { route: R; pathParameters: Record<string, string>; rank: string } | undefined;
  for (const route of routes) {
    if (route.method !== request.method) continue;
    const found = matchSegments(route.path.split('/'), segments);
    if (found === undefined || (best !== undefined && best.rank <= found.rank)) continue;
    best = { route, ...found };
  }
  if (best === undefined) return { kind: 'none' };
  return { kind: 'matched', route: best.route, pathParameters: best.pathParameters };
}

/** The methods that a path takes, whatever the method of the request was. */
export function methodsOf(routes: readonly Route[], segments: readonly string[]): Route['method'][] {
  return routes
    .filter((route) => matchSegments(route.path.split('/'), segments) !== undefined)
    .map((route) => route.method);
}

/** The path's segments, decoded. Undefined if one cannot be decoded. */
export function decodePath(path: string): readonly string[] | undefined {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

/** `rank` sorts matches: a 0 for each literal, a 1 for each variable, so that the earliest literal wins. */
function matchSegments(pattern: readonly string[], segments: readonly string[]) {
  if (pattern.length !== segments.length) return undefined;
  const pathParameters: Record<string, string> = {};
  let rank = '';
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index] ?? '';
    if (expected.startsWith('{')) {
      if (segment === '') return undefined;
      pathParameters[expected.slice(1, -1)] = segment;
      rank += '1';
    } else {
      if (segment !== expected) return undefined;
      rank += '0';
    }
  }
  return { pathParameters, rank };
}
