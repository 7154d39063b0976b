import * as z from 'zod';
import { contract } from '../../../lambda/api/contract/all.ts';
import {
  type AccessKind,
  lfsErrorsOf,
  problemsOf,
  type RouteContract,
} from '../../../lambda/api/contract/contract.ts';
import { problemTypes } from '../../../lambda/api/contract/problems.ts';
import { type RouteKey, routes } from '../../../lambda/routes.ts';

const [begin, end] = ['<!-- operations -->', '<!-- /operations -->'];

const who: Readonly<Record<AccessKind, string>> = {
  anyone: 'Anyone, without credentials.',
  admin: 'The admin token.',
  auditor: 'The admin token, or a token of the tenant with the scope manage.',
  manager: 'The admin token, or a token of the tenant with the scope manage.',
  reader: 'The admin token, or any token of the tenant.',
  holder: 'Any valid token.',
  anybody: 'Any valid token, or a session.',
  session: 'A session.',
  identity: 'Anyone with an identity token that a rule lets in.',
  tenant: 'A token of the tenant.',
  download: 'A token of the tenant. Downloads from a public repo need none.',
  verify: 'The token in the header of the verify action.',
};

const sections: readonly { readonly title: string; readonly isOf: (path: string) => boolean }[] = [
  { title: 'Service', isOf: (path) => /^\/(assets\/\{file\}|[a-z.]*)$/.test(path) },
  { title: 'Git LFS', isOf: (path) => path.includes('/info/lfs') },
  {
    title: 'Tenants and usage',
    isOf: (path) =>
      /^\/v1\/tenants(\/\{tenant\}(\/(subscription|reservations|downloads|history|counts|reconcile|audit))?)?$/.test(
        path,
      ),
  },
  { title: 'The stage', isOf: (path) => path === '/v1/status' },
  { title: 'Tokens', isOf: (path) => /\/(tokens|exchange)/.test(path) },
  { title: 'Sessions of the console', isOf: (path) => path === '/v1/session' },
  { title: 'Warnings', isOf: (path) => path.includes('/webhook') },
  { title: 'Exports', isOf: (path) => path.includes('/exports') },
  {
    title: 'Repos, objects and file locks',
    isOf: (path) => /^\/v1\/.*\/(repos|objects|deletions)/.test(path),
  },
];

/** The page with its generated part as the code has it now. */
export function apiPage(page: string): string {
  const [before, rest] = page.split(begin);
  const [, after] = rest?.split(end) ?? [];
  if (before === undefined || after === undefined) throw new Error(`docs/api.md lacks ${begin} … ${end}.`);
  return [
    before,
    begin,
    '\n',
    routeIndex(),
    '\n',
    sections.map(sectionText).join('\n'),
    '\n',
    problemTable(),
    '\n',
    end,
    after,
  ].join('');
}

/** Every route with what it does, in the order of the page. */
function routeIndex(): string {
  const rows = sections.flatMap(({ isOf }) =>
    routes
      .filter(({ path }) => isOf(path))
      .map(({ method, path }) => {
        const key: RouteKey = `${method} ${path}` as RouteKey;
        return `| [${key}](#${anchorOf(key)}) | ${contract[key].summary} |\n`;
      }),
  );
  return `## All routes\n\n| route | what it does |\n| --- | --- |\n${rows.join('')}`;
}

/** What GitHub makes of a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9 _-]/g, '')
    .replaceAll(' ', '-');

function sectionText({ title, isOf }: (typeof sections)[number]): string {
  const inside = routes.filter(({ path }) => isOf(path));
  const operations = inside.map(({ method, path }) => {
    const key: RouteKey = `${method} ${path}` as RouteKey;
    return operationText(key, contract[key]);
  });
  return [`## ${title}\n`, ...operations].join('\n');
}

function operationText(key: RouteKey, doc: RouteContract): string {
  const parts = [`### ${key}\n`, `${doc.summary}. *${who[doc.access]}*`];
  if (doc.description !== undefined) parts.push(`\n${wrapped(doc.description)}`);
  if (doc.takesRequestKey) parts.push('\nTakes an `Idempotency-Key`.');
  parts.push(queryTable(doc));
  if (doc.body) parts.push(example('Asked:', doc.body.example));
  parts.push('\n| status | answer |', '| --- | --- |', ...answerRows(key, doc));
  const [shown] = Object.values(doc.answers).filter((answer) => answer.example !== undefined);
  if (shown) parts.push(example('Answered:', shown.example));
  return `${parts.filter((part) => part !== '').join('\n')}\n`;
}

function answerRows(key: RouteKey, doc: RouteContract): string[] {
  const answers = Object.entries(doc.answers).map(([status, { description, headers = {} }]) => {
    const named = Object.entries(headers).map(([name, what]) => ` \`${name}\`: ${what}`);
    return [status, `${description}${named.join('')}`] as const;
  });
  const lfsErrors = lfsErrorsOf(doc);
  const byStatus = new Map<string, string[]>();
  for (const code of problemsOf(key, doc)) {
    const status = String(problemTypes[code].status);
    byStatus.set(status, [...(byStatus.get(status) ?? []), `\`${code}\``]);
  }
  const problems = [...byStatus].map(([status, codes]) => [status, codes.join(', ')] as const);
  return [...answers, ...lfsErrors, ...problems]
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([status, text]) => `| ${status} | ${text} |`);
}

interface ParameterShape {
  readonly type?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly description?: string;
}

function queryTable({ query }: RouteContract): string {
  if (!query) return '';
  const { properties = {} } = z.toJSONSchema(query, { io: 'output', unrepresentable: 'any' });
  const rows = Object.entries(properties).map(([name, schema]) => {
    const shape: ParameterShape = typeof schema === 'object' ? (schema as ParameterShape) : {};
    const range = shape.maximum === undefined ? (shape.type ?? '') : `${shape.minimum}–${shape.maximum}`;
    const byDefault = shape.default === undefined ? '' : `, by default ${String(shape.default)}`;
    return `| \`${name}\` | ${range}${byDefault} | ${shape.description ?? ''} |`;
  });
  return ['\n| query | value | meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

/** Lines of at most 120 characters, as the rest of the docs. */
function wrapped(text: string): string {
  return text.replace(/(.{1,120})(?: |$)/g, '$1\n').trimEnd();
}

function example(title: string, value: unknown): string {
  return `\n${title}\n\n\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
}

function problemTable(): string {
  const rows = Object.entries(problemTypes).map(
    ([code, { status, title }]) => `| \`${code}\` | ${status} | ${title}. |`,
  );
  return ['## Problem codes\n', '| code | status | meaning |', '| --- | --- | --- |', ...rows, ''].join('\n');
}
