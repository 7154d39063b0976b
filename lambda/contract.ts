import * as z from 'zod';
import { auditContract } from './frame/contract/audit.ts';
import { answer, type Contract, type RouteContract } from './frame/contract/contract.ts';
import { deleteContract } from './frame/contract/deletes.ts';
import { lfsContract } from './frame/contract/lfs.ts';
import { objectContract } from './frame/contract/objects.ts';
import { repoContract } from './frame/contract/repos.ts';
import { reservationContract } from './frame/contract/reservations.ts';
import { scanContract } from './frame/contract/scans.ts';
import { sessionContract } from './frame/contract/sessions.ts';
import { tenantContract } from './frame/contract/tenants.ts';
import { tokenContract } from './frame/contract/tokens.ts';
import type { RouteKey } from './routes.ts';
import { emailContract } from './subjects/alerts/email-contract.ts';
import { webhookContract } from './subjects/alerts/webhook-contract.ts';
import { lfsChunksContract } from './subjects/chunks/contract.ts';
import { exchangeContract } from './subjects/ci/contract.ts';
import { downloadContract } from './subjects/downloads/contract.ts';
import { lfsCopiesContract } from './subjects/downloads/copies-contract.ts';
import { exportContract } from './subjects/exports/contract.ts';
import { gcContract } from './subjects/gc/contract.ts';
import { historyContract } from './subjects/history/contract.ts';
import { tenantLinkContract } from './subjects/hosts/contract.ts';
import { invitationContract } from './subjects/invitations/contract.ts';
import { lockContract } from './subjects/locks/contract.ts';
import { lfsLockContract } from './subjects/locks/lfs-contract.ts';
import { signInContract } from './subjects/sign-in/contract.ts';
import { userContract } from './subjects/sign-in/user-contract.ts';
import { statusContract } from './subjects/status/contract.ts';

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

const said = {
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
};

/** Every route with all that is said of it. The compiler lets none be missing, and no other be there. */
export const contract = said satisfies Readonly<Record<RouteKey, RouteContract>> &
  Readonly<Record<Exclude<keyof typeof said, RouteKey>, never>>;
