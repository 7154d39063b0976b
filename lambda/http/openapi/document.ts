import * as z from 'zod';
import { exportIdPattern } from '../../domain/export/export-id.ts';
import { lockIdPattern } from '../../domain/lock.ts';
import { oidPattern, repoPattern, tenantPattern } from '../../domain/names.ts';
import { type RouteKey, routes } from '../../routes.ts';
import { lfsErrorSchema } from '../lfs/schemas.ts';
import { verifyTokenHeader } from '../lfs/verify-token.ts';
import { auditDocs } from '../management/audit/docs.ts';
import { cleanupDocs } from '../management/cleanups/docs.ts';
import { countDocs } from '../management/counts/docs.ts';
import { deleteDocs } from '../management/deletes/docs.ts';
import { downloadDocs } from '../management/downloads/docs.ts';
import { exchangeDocs } from '../management/exchange/docs.ts';
import { exportDocs } from '../management/exports/docs.ts';
import { historyDocs } from '../management/history/docs.ts';
import { lockDocs } from '../management/locks/docs.ts';
import { objectDocs } from '../management/objects/docs.ts';
import { noQuery } from '../management/queries.ts';
import { repoDocs } from '../management/repos/docs.ts';
import { reservationDocs } from '../management/reservations/docs.ts';
import { sessionDocs } from '../management/sessions/docs.ts';
import { statusDocs } from '../management/status/docs.ts';
import { tenantDocs } from '../management/tenants/docs.ts';
import { tokenDocs } from '../management/tokens/docs.ts';
import { webhookDocs } from '../management/webhooks/docs.ts';
import type { AccessKind, AnswerDoc, OperationDoc } from '../operation-docs.ts';
import { problemSchema } from '../problem-schema.ts';
import { type ProblemCode, problemTypes } from '../problems.ts';
import { lfsMediaType } from '../request.ts';
import { lfsOperations } from './lfs-operations.ts';
import { lockOperationDocs } from './lock-operations.ts';
import { serviceOperations } from './service-operations.ts';

/** A description for each route: the type makes the compiler check that none is missing. */
export const operationDocs: Readonly<Record<RouteKey, OperationDoc>> = {
  ...serviceOperations,
  ...lfsOperations,
  ...lockOperationDocs,
  ...sessionDocs,
  ...statusDocs,
  ...tenantDocs,
  ...tokenDocs,
  ...exchangeDocs,
  ...repoDocs,
  ...countDocs,
  ...reservationDocs,
  ...objectDocs,
  ...downloadDocs,
  ...historyDocs,
  ...webhookDocs,
  ...deleteDocs,
  ...cleanupDocs,
  ...exportDocs,
  ...lockDocs,
  ...auditDocs,
};

type Json = Readonly<Record<string, unknown>>;

/** The API as an OpenAPI 3.1 document. @param serverUrl where it is reached, without a slash at its end. */
export function openApiDocument(serverUrl: string): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { method, path } of routes) {
    const operation = describeOperation(path, operationDocs[`${method} ${path}` as RouteKey]);
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'lfs-quota',
      version: '1',
      summary: 'The quota backend of a Git LFS service on object storage.',
      description: 'docs/api.md is the same for people.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl }],
    tags: [
      { name: 'service', description: 'What the service says of itself.' },
      { name: 'lfs', description: 'The Git LFS API: what git-lfs calls.' },
      { name: 'management', description: 'Tenants, tokens, usage, exports and deletes.' },
    ],
    paths,
    components: { schemas: namedSchemas(), securitySchemes },
  };
}

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An access token or the admin token.' },
  verifyToken: {
    type: 'apiKey',
    in: 'header',
    name: verifyTokenHeader,
    description: 'The token in the header of a verify action.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-lfsq',
    description:
      'A session of the console. All of the management API takes it like the token that it stands for.',
  },
  console: {
    type: 'apiKey',
    in: 'header',
    name: 'lfs-quota-console',
    description: '`1`. Without it a session does not count.',
  },
  basic: {
    type: 'http',
    scheme: 'basic',
    description:
      'Any user name, and the token as the password. This is what git-lfs sends. Of a mapped repo, a token of the person for the git host is as good.',
  },
};

const session = [{ session: [], console: [] }];
const anyToken = [{ bearer: [] }, { basic: [] }];

const securityOf: Readonly<Record<AccessKind, readonly Json[]>> = {
  anyone: [],
  admin: anyToken,
  manager: anyToken,
  reader: anyToken,
  holder: anyToken,
  anybody: [...anyToken, ...session],
  session,
  identity: [],
  tenant: anyToken,
  download: [...anyToken, {}],
  verify: [{ verifyToken: [] }],
};

function describeOperation(path: string, doc: OperationDoc): Json {
  const isLfs = doc.lfsErrors !== undefined;
  return {
    operationId: doc.id,
    summary: doc.summary,
    ...(doc.description !== undefined && { description: doc.description }),
    tags: [isLfs ? 'lfs' : doc.access === 'anyone' ? 'service' : 'management'],
    security: securityOf[doc.access],
    parameters: [
      ...pathParameters(path),
      ...queryParameters(doc.query),
      ...(doc.takesRequestKey ? [requestKeyParameter] : []),
    ],
    ...(doc.body && {
      requestBody: {
        required: true,
        content: {
          [isLfs ? lfsMediaType : 'application/json']: {
            schema: schemaOf(doc.body.schema),
            example: doc.body.example,
          },
        },
      },
    }),
    responses: {
      ...Object.fromEntries(
        Object.entries(doc.answers).map(([status, answer]) => [status, describeAnswer(answer, isLfs)]),
      ),
      ...(isLfs ? lfsErrorsOf(doc) : problemsOf(doc)),
      431: { description: 'Request line and headers are larger than the gateway takes.' },
    },
  };
}

function describeAnswer({ description, schema, example, types, headers }: AnswerDoc, isLfs: boolean): Json {
  const content = types
    ? Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }]))
    : schema && {
        [isLfs ? lfsMediaType : 'application/json']: {
          schema: schemaOf(schema),
          ...(example !== undefined && { example }),
        },
      };
  return {
    description,
    ...(headers && {
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, what]) => [
          name,
          { description: what, schema: { type: 'string' } },
        ]),
      ),
    }),
    ...(content && { content }),
  };
}

function lfsErrorsOf(doc: OperationDoc): Json {
  const content = { [lfsMediaType]: { schema: schemaOf(lfsErrorSchema) } };
  return Object.fromEntries(
    Object.entries(doc.lfsErrors ?? {}).map(([status, description]) => [status, { description, content }]),
  );
}

/** All problems that an operation can answer: its own, and those of its access, query and body. */
export function problemCodesOf(doc: OperationDoc): ProblemCode[] {
  if (doc.lfsErrors) return [];
  if (doc.access === 'anyone') return [...(doc.problems ?? [])];
  return [
    'unauthorized',
    ...(doc.access === 'identity' ? (['issuer-unavailable'] as const) : []),
    ...(doc.access === 'manager' ? (['scope-too-small'] as const) : []),
    ...(doc.access === 'identity' ? [] : (['invalid-query'] as const)),
    ...(doc.takesRequestKey ? (['invalid-idempotency-key', 'idempotency-key-reused'] as const) : []),
    ...(doc.body
      ? (['invalid-json', 'unsupported-media-type', 'body-too-large', 'invalid-body'] as const)
      : []),
    ...(doc.problems ?? []),
    'internal-error',
    'storage-unavailable',
  ];
}

function problemsOf(doc: OperationDoc): Json {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of problemCodesOf(doc)) {
    const { status } = problemTypes[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => `${code}: ${problemTypes[code].title}.`).join(' '),
        content: { 'application/problem+json': { schema: schemaOf(problemSchema) } },
      },
    ]),
  );
}

const pathParameterSchemas: Readonly<Record<string, Json>> = {
  tenant: { type: 'string', pattern: tenantPattern.source },
  repo: {
    type: 'string',
    pattern: repoPattern.source,
    description: 'A trailing `.git` is not part of the name.',
  },
  oid: { type: 'string', pattern: oidPattern.source },
  exportId: { type: 'string', pattern: exportIdPattern.source },
  lockId: { type: 'string', pattern: lockIdPattern.source },
  tokenId: { type: 'string', pattern: '^[0-9a-f]{16}$' },
  file: { type: 'string', pattern: '^[a-z-]+-[0-9a-f]{16}\\.[a-z0-9]+$' },
  ruleId: { type: 'string', pattern: '^[0-9a-f]{16}$' },
};

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: pathParameterSchemas[name],
  }));
}

function queryParameters(query: z.ZodType = noQuery): Json[] {
  const { properties = {} } = z.toJSONSchema(query, { io: 'output', unrepresentable: 'any' });
  return Object.entries(properties).map(([name, schema]) => {
    const { description, ...rest } = typeof schema === 'object' ? schema : {};
    return { name, in: 'query', ...(description !== undefined && { description }), schema: rest };
  });
}

const requestKeyParameter: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'A key of your choice, such as a UUID. Within 24 hours it makes repeating the request safe.',
  schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
};

const uriOf = (id: string) => `#/components/schemas/${id}`;

/** A reference to a named schema, or the schema itself. */
function schemaOf(schema: z.ZodType): unknown {
  const id = z.globalRegistry.get(schema)?.id;
  return id === undefined ? z.toJSONSchema(schema, { io: 'input' }) : { $ref: uriOf(id) };
}

/** Every schema with an id. */
function namedSchemas(): Json {
  const { schemas } = z.toJSONSchema(z.globalRegistry, { io: 'input', uri: uriOf, unrepresentable: 'any' });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _schema, $id: _id, ...schema }]) => [id, schema]),
  );
}
