import { isTenantName, repoNamed } from '../../core/rules/names.ts';
import type { Route } from '../../frame/api/route-match.ts';
import type { Unmatched } from '../../frame/service/not-found.ts';
import { lfsError } from './http.ts';
import { lfsUrlWrong, notAnEndpoint } from './messages.ts';

/** Requests of git-lfs with a wrong `lfs.url`. */
export const unmatchedLfs: Unmatched = (routes) => {
  const endpoints = endpointsOf(routes);
  return ({ rawPath, requestContext: { requestId } }, { isRoute, refusal }) => {
    const isLfs = rawPath.includes(lfsUrlEnd);
    const lfs404 = (message: string) => lfsError({ statusCode: 404, message, requestId });
    if (refusal) {
      const { message, allow } = refusal;
      return isLfs ? lfsError({ statusCode: 405, message, requestId }, { allow }) : undefined;
    }
    const endpoint = isRoute ? undefined : endpointOf(rawPath, endpoints);
    if (endpoint && (isLfs || endpoint.mayBeLfs)) return lfs404(lfsUrlWrong(endpoint.lfsUrl, endpoint.repo));
    if (!isLfs) return undefined;
    const [before = ''] = rawPath.split(lfsUrlEnd);
    return lfs404(notAnEndpoint(rawPath, repoIn(before.split('/').filter(isName))));
  };
};

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
function endpointOf(path: string, endpoints: readonly (readonly string[])[]) {
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
