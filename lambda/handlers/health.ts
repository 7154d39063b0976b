import type { HttpHandler } from '../http/guard.ts';
import { json } from '../http/respond.ts';

/** GET /health: that this API answers. It touches nothing, so it costs nothing to ask often. */
export function create(): HttpHandler {
  return async () => json(200, { status: 'ok' });
}

export const handler = create();
