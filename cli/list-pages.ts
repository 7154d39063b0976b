import { type Command, InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import type { ApiClient } from './api-client.ts';
import { type ApiOptions, withApiOptions } from './options.ts';

/** Most items of a page: the fewest requests. */
export const pageSizeMax = 1000;

/** Options of a command that shows a list of the API. */
export interface ListOptions extends ApiOptions {
  readonly cursor?: string;
  readonly pageSize?: number;
}

/** Adds the API's options, `--cursor` and `--page-size`. */
export function withListOptions(command: Command): Command {
  return withApiOptions(command)
    .option('--cursor <cursor>', 'start at this cursor, the `nextCursor` of the page before')
    .option('--page-size <n>', 'items per request, 1 to 1000', parsePageSize);
}

function parsePageSize(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text) || Number(text) > pageSizeMax)
    throw new InvalidArgumentError('Give a whole number from 1 to 1000.');
  return Number(text);
}

interface ListInput<Page> {
  readonly path: string;
  /** Parameters of every page's query. */
  readonly filter?: Readonly<Record<string, string>>;
  readonly shape: z.ZodType<Page>;
  readonly options: ListOptions;
}

/**
 * Reads a list of the API: all pages, or with `--json` one page.
 *
 * @returns the pages, and the unchanged text of the last one.
 */
export async function listPages<Page extends { nextCursor: string | null }>(
  client: ApiClient,
  input: ListInput<Page>,
): Promise<{ pages: readonly Page[]; text: string }> {
  const pages: Page[] = [];
  let text = '';
  for await (const page of eachPage(client, input)) {
    pages.push(page.body);
    text = page.text;
  }
  return { pages, text };
}

/** The same one page after the other, for a list that is longer than what one wants to hold. */
export async function* eachPage<Page extends { nextCursor: string | null }>(
  client: ApiClient,
  { path, filter, shape, options }: ListInput<Page>,
): AsyncGenerator<{ readonly body: Page; readonly text: string }> {
  let cursor: string | null = options.cursor ?? null;
  do {
    const query = new URLSearchParams(filter);
    if (cursor !== null) query.set('cursor', cursor);
    if (options.pageSize !== undefined) query.set('limit', String(options.pageSize));
    const request = { method: 'GET' as const, path: query.size === 0 ? path : `${path}?${query}`, shape };
    const { body, text } = await client.send(request);
    yield { body, text };
    cursor = body.nextCursor;
  } while (cursor !== null && !options.json);
}
