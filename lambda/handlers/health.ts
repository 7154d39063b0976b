import { release } from '../core/rules/release.ts';
import { json, overTls } from '../frame/api/http.ts';
import type { HttpHandler } from '../frame/aws/function.ts';

/** GET /health: that this API answers, and which release. It touches nothing, so it costs nothing to ask often. */
export function create(): HttpHandler {
  return async (event) => overTls(event, json(200, { status: 'ok', ...release }));
}

export const handler = create();
