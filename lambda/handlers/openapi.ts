import { baseUrl, json, overTls } from '../api/http.ts';
import { openApiDocument } from '../api/openapi.ts';
import { openapiDeps } from '../compose.ts';
import { deployed } from '../runtime/deployed.ts';
import type { HttpHandler } from '../runtime/guard.ts';

/** GET /openapi.json: the API's description, for programs. */
export function create(deps: { readonly publicUrl?: string | undefined } = {}): HttpHandler {
  return async (event) =>
    overTls(
      event,
      json(200, openApiDocument(baseUrl(event, deps.publicUrl)), { 'cache-control': 'public, max-age=300' }),
    );
}

export const handler = await deployed(create, openapiDeps);
