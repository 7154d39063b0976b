import * as z from 'zod';
import type { RouteKey } from '../../routes.ts';
import type { OperationDoc } from '../operation-docs.ts';

const healthSchema = z.object({ status: z.literal('ok') }).meta({ id: 'Health' });

/** What the service says of itself. */
export const serviceOperations: Readonly<Record<RouteKey<'health' | 'openapi'>, OperationDoc>> = {
  'GET /health': {
    id: 'health',
    summary: 'Whether the API answers',
    access: 'anyone',
    answers: { 200: { description: 'It does.', schema: healthSchema, example: { status: 'ok' } } },
  },
  'GET /openapi.json': {
    id: 'openapi',
    summary: 'This description, as OpenAPI 3.1',
    access: 'anyone',
    answers: {
      200: { description: 'The document.', schema: z.looseObject({ openapi: z.string() }) },
    },
  },
};
