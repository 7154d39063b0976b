import * as z from 'zod';
import { contract } from './contract.ts';
import { oidPattern, repoPattern, tenantPattern } from './core/rules/names.ts';
import { gitHostIdPattern } from './frame/access/rules/host-user.ts';
import { lfsMediaType, uploadTokenHeader, verifyTokenHeader } from './frame/api/http.ts';
import { routeOf } from './frame/api/route-match.ts';
import {
  type AccessKind,
  type AnswerContract,
  lfsErrorsOf,
  problemsOf,
  type RouteContract,
} from './frame/contract/contract.ts';
import { noQuery } from './frame/contract/fields.ts';
import { type Problem, type ProblemCode, problemTypes } from './frame/contract/problems.ts';

type Json = Readonly<Record<string, unknown>>;

/** The API as an OpenAPI 3.1 document. @param serverUrl where it is reached, without a slash at its end. */
export function openApiDocument(serverUrl: string): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [route, doc] of Object.entries(contract) as [keyof typeof contract, RouteContract][]) {
    const { method, path } = routeOf(route);
    const operation = describeOperation(route, doc);
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'lfs-quota',
      version: '1',
      summary: 'The quota backend of a Git LFS service on object storage.',
      description: 'docs/api.md is an index.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl }],
    tags: [
      { name: 'service', description: 'Information about the service.' },
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
  uploadToken: {
    type: 'apiKey',
    in: 'header',
    name: uploadTokenHeader,
    description: "The token in the header of a chunked upload's action.",
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-lfsq',
    description: "A console session. It has its token's rights on the whole management API.",
  },
  console: {
    type: 'apiKey',
    in: 'header',
    name: 'lfs-quota-console',
    description: '`1`. Required for a session.',
  },
  basic: {
    type: 'http',
    scheme: 'basic',
    description:
      "Any username, and the token as the password, as git-lfs sends it. For a linked repo, a user's git host token works too.",
  },
};

const session = [{ session: [], console: [] }];
const anyToken = [{ bearer: [] }, { basic: [] }];

const securityOf: Readonly<Record<AccessKind, readonly Json[]>> = {
  anyone: [],
  admin: anyToken,
  manager: anyToken,
  auditor: anyToken,
  reader: anyToken,
  asker: anyToken,
  writer: anyToken,
  collector: anyToken,
  holder: anyToken,
  anybody: [...anyToken, ...session],
  session,
  identity: [],
  tenant: anyToken,
  download: [...anyToken, {}],
  verify: [{ verifyToken: [] }],
  chunks: [{ uploadToken: [] }],
};

function describeOperation(route: string, doc: RouteContract): Json {
  const isLfs = doc.lfsErrors !== undefined;
  return {
    operationId: doc.id,
    summary: doc.summary,
    ...(doc.description !== undefined && { description: doc.description }),
    tags: [isLfs ? 'lfs' : doc.access === 'anyone' && !doc.body ? 'service' : 'management'],
    security: securityOf[doc.access],
    parameters: [
      ...pathParameters(route, doc),
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
      ...(isLfs ? lfsErrorAnswers(doc) : problemAnswers(route, doc)),
      431: { description: 'Request line and headers are larger than the gateway takes.' },
    },
  };
}

function describeAnswer(
  { description, schema, example, types, headers }: AnswerContract,
  isLfs: boolean,
): Json {
  const content = (schema || types) && {
    ...(schema && {
      [isLfs ? lfsMediaType : 'application/json']: {
        schema: schemaOf(schema),
        ...(example !== undefined && { example }),
      },
    }),
    ...Object.fromEntries((types ?? []).map((type) => [type, { schema: { type: 'string' } }])),
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

function lfsErrorAnswers(doc: RouteContract): Json {
  const content = { [lfsMediaType]: { schema: schemaOf(lfsErrorSchema) } };
  return Object.fromEntries(
    lfsErrorsOf(doc).map(([status, description]) => [status, { description, content }]),
  );
}

function problemAnswers(route: string, said: RouteContract): Json {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of problemsOf(route, said)) {
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
    description: 'A trailing `.git` is ignored.',
  },
  oid: { type: 'string', pattern: oidPattern.source },
  file: { type: 'string', pattern: '^[a-z-]+-([0-9a-f]{16}|[0-9A-Z]{8})\\.[a-z0-9]+$' },
  host: { type: 'string', pattern: gitHostIdPattern.source },
};

/** Of a variable that neither these nor its contract say. */
const idSchema: Json = { type: 'string', pattern: '^[0-9a-f]{16}$' };

function pathParameters(path: string, { variables = {} }: RouteContract): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: variables[name]
      ? { type: 'string', pattern: variables[name].source }
      : (pathParameterSchemas[name] ?? idSchema),
  }));
}

function queryParameters(query: z.ZodType = noQuery): Json[] {
  const { properties = {}, required = [] } = z.toJSONSchema(query, { io: 'output', unrepresentable: 'any' });
  return Object.entries(properties).map(([name, schema]) => {
    const { description, ...rest } = typeof schema === 'object' ? schema : {};
    return {
      name,
      in: 'query',
      ...(required.includes(name) && { required: true }),
      ...(description !== undefined && { description }),
      schema: rest,
    };
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

/** Every schema with an id, by its name: files register theirs in the order in which they happen to be loaded. */
function namedSchemas(): Json {
  const { schemas } = z.toJSONSchema(z.globalRegistry, { io: 'input', uri: uriOf, unrepresentable: 'any' });
  return Object.fromEntries(
    Object.entries(schemas)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, { $schema: _schema, $id: _id, ...schema }]) => [id, schema]),
  );
}

/** {@link Problem} as a schema, apart from problems.ts: the smallest functions do without zod. */
const problemSchema: z.ZodType<Problem> = z
  .object({
    type: z.string().meta({ format: 'uri', description: '`urn:lfs-quota:problem:` and the code.' }),
    code: z.enum(Object.keys(problemTypes) as [ProblemCode, ...ProblemCode[]]),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('The problem and the next step, for humans.'),
  })
  .meta({ id: 'Problem', description: 'An error of the management API (RFC 9457).' });

const lfsErrorSchema = z
  .object({
    message: z.string().describe('All that git-lfs prints.'),
    request_id: z.string(),
  })
  .meta({ id: 'LfsError', description: 'An error of the LFS API.' });
