import { openapiDeps } from '../compose.ts';
import { openApiDocument } from '../http/openapi/document.ts';
import { baseUrl } from '../http/request.ts';
import { json, overTls } from '../http/respond.ts';
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
