import { contract } from '../../../lambda/contract.ts';
import type { AccessKind } from '../../../lambda/frame/contract/contract.ts';
import { type RouteKey, routes } from '../../../lambda/routes.ts';

/** Who can call a route, in a word or two. */
const who: Readonly<Record<AccessKind, string>> = {
  anyone: 'anyone',
  admin: 'admin',
  auditor: 'manage',
  manager: 'manage',
  reader: 'read',
  asker: 'read',
  writer: 'write',
  collector: 'gc',
  holder: 'any token',
  anybody: 'any token, session',
  session: 'session',
  identity: 'CI identity',
  tenant: 'tenant token',
  download: 'tenant token, or none',
  verify: 'verify token',
  chunks: 'upload token',
};

const sections: readonly { readonly title: string; readonly isOf: (path: string) => boolean }[] = [
  { title: 'Git LFS', isOf: (path) => path.includes('/info/lfs') },
  { title: 'Tenants', isOf: (path) => /^\/v1\/tenants(\/\{tenant\})?$/.test(path) },
  {
    title: 'Tokens, rules, sessions',
    isOf: (path) => /\/(tokens|exchange|session|sign-in|users|organizations)/.test(path),
  },
  { title: 'Files', isOf: (path) => /\/(uploads|files|downloads)\b/.test(path) && path.includes('/repos/') },
  { title: 'Repos, locks, garbage collection', isOf: (path) => path.includes('/repos') },
  { title: 'Exports', isOf: (path) => path.includes('/exports') },
  { title: 'Webhooks', isOf: (path) => path.includes('/webhook') },
  { title: 'E-mail alerts', isOf: (path) => path.includes('/emails') },
  { title: 'Service', isOf: (path) => path === '/v1/status' || !path.startsWith('/v1') },
  { title: 'Usage', isOf: () => true },
];

/** All of docs/api.md: an index. `/openapi.json` has the rest. */
export function apiPage(): string {
  const left = new Set(routes.map(({ method, path }) => `${method} ${path}` as RouteKey));
  const tables = sections.map(({ title, isOf }) => {
    const inside = [...left].filter((key) => isOf(key.slice(key.indexOf(' ') + 1)));
    for (const key of inside) left.delete(key);
    const rows = inside.map(
      (key) => `| \`${key}\` | ${who[contract[key].access]} | ${contract[key].summary} |`,
    );
    return [`## ${title}`, '', '| Route | Token | |', '| --- | --- | --- |', ...rows, ''].join('\n');
  });
  return `# API index

[Build a product on lfs-quota](saas-builders.md) explains authentication, [errors and retries](saas-builders.md#errors-and-retries), and
[pages](saas-builders.md#pages). Parameters, bodies, responses and problem codes are in \`/openapi.json\` (OpenAPI 3.1) of
every running server: open that URL in any OpenAPI viewer.

A token with a larger scope can do what a smaller one can: \`read\`, \`write\`, \`manage\`, then the admin token.

*Generated: \`npx vitest run test/unit/docs/api-page.test.ts -u\` rewrites it.*

${tables.join('\n')}`;
}
