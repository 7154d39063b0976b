import * as z from 'zod';
import { answer, type Contract } from './contract.ts';

const healthSchema = z.object({ status: z.literal('ok') }).meta({ id: 'Health' });

export const serviceContract = {
  'GET /': {
    id: 'console',
    summary: 'The console',
    access: 'anyone',
    answers: {
      200: { description: "The page. It's empty until you sign in.", types: ['text/html'] },
      304: { description: 'Unchanged since the `ETag` in `If-None-Match`.' },
    },
  },
  'GET /sign-in/{host}': {
    id: 'signInPage',
    summary: 'The console, after a Git host',
    description: "Git hosts return users to it. It's the same page.",
    access: 'anyone',
    answers: {
      200: { description: 'The page.', types: ['text/html'] },
      304: { description: 'Unchanged since the `ETag` in `If-None-Match`.' },
    },
    problems: ['not-found'],
  },
  'GET /assets/{file}': {
    id: 'consoleAsset',
    summary: 'A file of the console',
    access: 'anyone',
    answers: {
      200: {
        description: 'The file. It never changes.',
        types: ['text/javascript', 'text/css', 'font/woff2'],
      },
      304: { description: 'Unchanged since the `ETag` in `If-None-Match`.' },
    },
    problems: ['not-found'],
  },
  'GET /health': {
    id: 'health',
    summary: 'Whether the API responds',
    access: 'anyone',
    answers: { 200: answer('It responds.', healthSchema, { status: 'ok' }) },
  },
  'GET /openapi.json': {
    id: 'openapi',
    summary: 'This description, as OpenAPI 3.1',
    access: 'anyone',
    answers: { 200: answer('The document.', z.looseObject({ openapi: z.string() })) },
  },
} as const satisfies Contract;
