import type { Command } from 'commander';
import { parseJson } from '../lambda/core/rules/text.ts';
import type { ApiClient, Asking, BodyOf, PageId, ParamsOf } from './api-client.ts';
import type { CliContext } from './context.ts';
import { parseUpTo, withServiceOptions } from './options.ts';
import { formatCount } from './render.ts';
import type { ApiOptions } from './server.ts';

/** Most items of a page: the fewest requests. */
export const pageSizeMax = 1000;

/** Options of a command that shows a list of the API. */
export interface ListOptions extends ApiOptions {
  readonly limit?: number;
  readonly cursor?: string;
  readonly pageSize?: number;
}

/** Adds `--url`, `--token`, `--json` and what says which part of a list is read: all of it, unless it is said. */
export function withListOptions(command: Command): Command {
  return withPageOptions(command)
    .option('--limit <n>', 'maximum number (default: all)', parseUpTo())
    .option('--cursor <cursor>', 'continue at this `nextCursor` of --json');
}

/** The same for what is only told of a whole list. */
export function withPageOptions(command: Command): Command {
  return withServiceOptions(command)
    .option('--json', 'print everything as one JSON object')
    .option('--page-size <n>', 'items per request, 1 to 1000', parseUpTo(pageSizeMax));
}

interface ListInput<Id extends PageId> {
  readonly route: Id;
  readonly params: Readonly<Record<ParamsOf<Id>, string>>;
  /** Parameters of every page's query. */
  readonly query?: Asking<Id>['query'];
  /** The field of a page that has its items. */
  readonly items: keyof BodyOf<Id> & string;
  readonly options: ListOptions;
}

interface ListPage<Page> {
  readonly body: Page;
  /** The body as it came, with fields that this version does not know. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** Reads a list of the API page by page: all of it, or as many items as `--limit` says. @throws {CliError} */
export async function* eachPage<Id extends PageId>(
  client: ApiClient,
  { route, params, query, items, options }: ListInput<Id>,
): AsyncGenerator<ListPage<BodyOf<Id>>> {
  let cursor: string | null = options.cursor ?? null;
  let left = options.limit ?? Number.POSITIVE_INFINITY;
  let count = 0;
  const end = client.busy.begin(() =>
    count === 0 ? `listing, at ${client.baseUrl}` : `listing: ${formatCount(count)} so far`,
  );
  try {
    do {
      const pageSize = options.pageSize ?? (options.limit === undefined ? undefined : pageSizeMax);
      const limit = pageSize === undefined ? undefined : Math.min(pageSize, left);
      const page = { ...query, cursor: cursor ?? undefined, limit };
      const { body, text } = await client.ask(route, { params, query: page } as Asking<Id>);
      const raw = rawOf(text);
      // Objects have files beside them.
      const { length } = [raw[items], raw['files']].flatMap((found) => (Array.isArray(found) ? found : []));
      left -= length;
      count += length;
      cursor = (body as { nextCursor: string | null }).nextCursor;
      yield { body, raw };
    } while (cursor !== null && left > 0);
    const { tenant, repo } = { ...params, ...query } as { tenant: string; repo?: string };
    // Nothing is in it, or there is no such repo, which is an error.
    if (count === 0 && repo !== undefined && !('repo' in params))
      await client.ask('getRepo', { params: { tenant, repo } });
  } finally {
    end();
  }
}

/** All items of a list, with as few requests as possible. @throws {CliError} */
export async function allItems<Id extends PageId, Key extends keyof BodyOf<Id> & string>(
  client: ApiClient,
  list: Omit<ListInput<Id>, 'options'> & { readonly items: Key },
): Promise<BodyOf<Id>[Key]> {
  const all: unknown[] = [];
  for await (const { body } of eachPage(client, { ...list, options: { pageSize: pageSizeMax } }))
    all.push(...(body[list.items] as readonly unknown[]));
  return all as BodyOf<Id>[Key];
}

/** All objects of a tenant, or of one of its repos, with as few requests as possible. @throws {CliError} */
export const objectPages = (
  client: ApiClient,
  { tenant, repo }: { tenant: string; repo: string | null | undefined },
) =>
  eachPage(client, {
    route: 'listObjects',
    params: { tenant },
    query: { repo: repo ?? undefined },
    items: 'objects',
    options: { pageSize: pageSizeMax },
  });

const rawOf = (text: string) => Object(parseJson(text)) as Readonly<Record<string, unknown>>;

/**
 * Prints a list of the API: with `--json` as one page that has all items, otherwise as `render` has it.
 *
 * @param list.render what is printed for a person, newline at its end.
 */
export async function printList<Id extends PageId>(
  context: CliContext,
  client: ApiClient,
  list: ListInput<Id> & { readonly render: (pages: readonly BodyOf<Id>[]) => string },
): Promise<void> {
  if (list.options.json) return printJsonList(context, client, list);
  const pages: BodyOf<Id>[] = [];
  for await (const { body } of eachPage(client, list)) pages.push(body);
  context.out(list.render(pages));
}

/** Page by page, because it may be longer than what one wants to hold. What broke off is no JSON. */
async function printJsonList<Id extends PageId>(
  context: CliContext,
  client: ApiClient,
  list: ListInput<Id>,
): Promise<void> {
  const rest: Record<string, unknown> = {};
  let before = `{"${list.items}":[`;
  let separator = '';
  for await (const { raw } of eachPage(client, list)) {
    const { [list.items]: items, ...others } = raw;
    const texts = Array.isArray(items) ? items.map((item) => JSON.stringify(item)) : [];
    if (texts.length > 0) {
      client.busy.hide();
      context.out(`${before}${separator}${texts.join(',')}`);
      [before, separator] = ['', ','];
    }
    merge(rest, others);
  }
  client.busy.hide();
  const fields = Object.entries(rest).map(
    ([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`,
  );
  context.out(`${before}]${fields.join('')}}\n`);
}

/** Lists go on, and of all else the last page says how it is. */
function merge(into: Record<string, unknown>, page: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(page)) {
    const before = into[name];
    into[name] = Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
  }
}
