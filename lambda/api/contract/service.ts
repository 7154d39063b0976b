import * as z from 'zod';
import type { Contract } from './contract.ts';

const healthSchema = z.object({ status: z.literal('ok') }).meta({ id: 'Health' });

/** What the service says of itself. */
export const serviceContract = {
  'GET /': {
    id: 'console',
    summary: 'The console: a page for people',
    access: 'anyone',
    answers: {
      200: { description: 'The page. It shows nothing before somebody signs in.', types: ['text/html'] },
      304: { description: 'It is the one that `If-None-Match` names.' },
    },
  },
  'GET /assets/{file}': {
    id: 'consoleAsset',
    summary: 'A file of the console',
    access: 'anyone',
    answers: {
      200: {
        description: 'The file, which never changes.',
        types: ['text/javascript', 'text/css', 'font/woff2'],
      },
      304: { description: 'It is the one that `If-None-Match` names.' },
    },
    problems: ['not-found'],
  },
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
} as const satisfies Contract;
