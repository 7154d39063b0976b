import { expect, it } from 'vitest';
import { openApiDocument } from '../../../lambda/openapi.ts';

const { paths } = openApiDocument('https://lfs.example.com') as {
  paths: Record<
    string,
    Record<string, { parameters: { name: string; required?: boolean; schema?: object }[] }>
  >;
};

/** The parameters of an operation, as the document has them. */
const parametersOf = (path: string, method: string) => paths[path]?.[method]?.parameters ?? [];

it('a query says which of its parameters are required', () => {
  const email = parametersOf('/v1/tenants/{tenant}/emails', 'delete');
  expect(email.find(({ name }) => name === 'address')).toMatchObject({ required: true });
  const link = parametersOf('/v1/emails/unsubscribe', 'post');
  expect(link).toEqual([expect.objectContaining({ name: 'key', in: 'query', required: true })]);
  const audit = parametersOf('/v1/tenants/{tenant}/audit', 'get');
  expect(audit.find(({ name }) => name === 'limit')?.required).toBeUndefined();
});

it('each parameter of a path has a schema', () => {
  for (const [path, methods] of Object.entries(paths))
    for (const method of Object.keys(methods))
      for (const { name, schema } of parametersOf(path, method))
        expect(schema, `${path} ${name}`).toBeDefined();
});
