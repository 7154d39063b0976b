import { release } from '../../core/rules/release.ts';
import { json, overTls } from '../api/http.ts';
import type { HttpHandler } from '../aws/function.ts';

/** GET /health: that this API answers, and which release. It touches nothing, so it costs nothing to ask often. */
export function create(): HttpHandler {
  return async (event) => overTls(event, json(200, { status: 'ok', ...release }));
}
