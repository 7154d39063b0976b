import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { allOf, those } from '../core/rules/lists.ts';
import { baseUrl, json } from '../frame/api/http.ts';
import { deployed } from '../frame/aws/deployed.ts';
import { warmUpTable } from '../frame/aws/function.ts';
import { answering } from '../frame/management/handler.ts';
import * as stores from '../lists/stores.ts';
import { openApiDocument } from '../openapi.ts';
import { common, publicUrl, table } from '../parts.ts';
import type { RouteKey } from '../routes.ts';
import * as subjects from './needs/sign-in.ts';

/** The description of the API, for programs. It is for everybody, so nothing is checked. */
async function describeApi({ publicUrl }: { publicUrl?: string | undefined }, event: APIGatewayProxyEventV2) {
  const document = openApiDocument(baseUrl(event, publicUrl));
  return json(200, document, { 'cache-control': 'public, max-age=300' });
}

/** What anybody can ask, without a token: each costs a few reads and writes of single items. */
export const create = answering<RouteKey<'signIn'>>()({
  ...those(subjects, 'operations'),
  description: { 'GET /openapi.json': describeApi },
});

export function signInDeps() {
  const tables = table();
  return {
    ...common(),
    publicUrl: publicUrl(),
    ...allOf(those(subjects, 'parts'), tables),
    tokens: stores.tokens(tables),
    // It knows no operator: nobody's session of theirs counts here.
    admin: { sha256s: async () => [] },
    ledger: stores.ledger(tables),
    requestKeys: stores.requestKeys(tables),
    audit: stores.audit(tables),
  };
}

export const handler = await deployed(create, signInDeps, warmUpTable);
