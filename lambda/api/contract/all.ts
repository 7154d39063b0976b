import * as z from 'zod';
import type { RouteKey } from '../../routes.ts';
import { auditContract } from './audit.ts';
import { answer, type Contract, type RouteContract } from './contract.ts';
import { deleteContract } from './deletes.ts';
import { downloadContract } from './downloads.ts';
import { emailContract } from './emails.ts';
import { exchangeContract } from './exchange.ts';
import { exportContract } from './exports.ts';
import { gcContract } from './gc.ts';
import { historyContract } from './history.ts';
import { invitationContract } from './invitations.ts';
import { lfsContract } from './lfs.ts';
import { lfsChunksContract } from './lfs-chunks.ts';
import { lfsCopiesContract } from './lfs-copies.ts';
import { lfsLockContract } from './lfs-locks.ts';
import { lockContract } from './locks.ts';
import { objectContract } from './objects.ts';
import { repoContract } from './repos.ts';
import { reservationContract } from './reservations.ts';
import { scanContract } from './scans.ts';
import { sessionContract } from './sessions.ts';
import { signInContract } from './sign-in.ts';
import { statusContract } from './status.ts';
import { tenantLinkContract } from './tenant-links.ts';
import { tenantContract } from './tenants.ts';
import { tokenContract } from './tokens.ts';
import { userContract } from './users.ts';
import { webhookContract } from './webhooks.ts';

const healthSchema = z.object({ status: z.literal('ok') }).meta({ id: 'Health' });

/** What the service says of itself. */
const serviceContract = {
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

/** Every route with all that is said of it. The compiler lets none be missing. */
export const contract = {
  ...serviceContract,
  ...lfsContract,
  ...lfsChunksContract,
  ...lfsCopiesContract,
  ...lfsLockContract,
  ...sessionContract,
  ...signInContract,
  ...statusContract,
  ...tenantContract,
  ...tokenContract,
  ...exchangeContract,
  ...invitationContract,
  ...userContract,
  ...repoContract,
  ...scanContract,
  ...reservationContract,
  ...objectContract,
  ...downloadContract,
  ...historyContract,
  ...tenantLinkContract,
  ...webhookContract,
  ...emailContract,
  ...deleteContract,
  ...gcContract,
  ...exportContract,
  ...lockContract,
  ...auditContract,
} satisfies Readonly<Record<RouteKey, RouteContract>>;
