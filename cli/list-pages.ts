import { type Command, InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import type { ApiClient } from './api-client.ts';
import { type ApiOptions, withApiOptions } from './options.ts';

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
  if (!/^[1-9]\d{0,3}$/.test(text) || Number(text) > 1000)
    throw new InvalidArgumentError('Give a whole number from 1 to 1000.');
  return Number(text);
}

/**
 * Reads a list of the API: all pages, or with `--json` one page.
 *
 * @returns the pages, and the unchanged text of the last one.
 */
export async function listPages<Page extends { nextCursor: string | null }>(
  client: ApiClient,
  input: {
    path: string;
    /** Parameters of every page's query. */
    filter?: Readonly<Record<string, string>>;
    shape: z.ZodType<Page>;
    options: ListOptions;
  },
): Promise<{ pages: readonly Page[]; text: string }> {
  const { path, shape, options } = input;
  const pages: Page[] = [];
  let cursor: string | null = options.cursor ?? null;
  for (;;) {
    const query = new URLSearchParams(input.filter);
    if (cursor !== null) query.set('cursor', cursor);
    if (options.pageSize !== undefined) query.set('limit', String(options.pageSize));
    const request = { method: 'GET' as const, path: query.size === 0 ? path : `${path}?${query}`, shape };
    const { body, text } = await client.send(request);
    pages.push(body);
    cursor = body.nextCursor;
    if (options.json || cursor === null) return { pages, text };
  }
}
