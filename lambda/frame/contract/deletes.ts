import * as z from 'zod';
import { oidPattern } from '../../core/rules/names.ts';
import { fileNameBytesMax } from '../access/rules/file-names.ts';
import { answer, type Contract } from './contract.ts';
import { bytes, bytesOrNull, count, cursorOf, flag, ofRepo, page, pageOf, time } from './fields.ts';
import { oid } from './objects.ts';

/** Bytes of a name in the cursor of a list of deletions, at most. A folder of the store can have a longer name than a repo. */
const folderBytesMax = 1024;

/** Bytes of an id in it, at most: that of one object, or of one file, has its name. */
export const deletionIdBytesMax = 1 + fileNameBytesMax;

/** What the cursor of a list of deletions looks like: in hex an id, `#` and the name of a repo. */
const deletionCursorPattern = new RegExp(
  `^c(?:(?!23)[0-9a-f]{2}){1,${3 * deletionIdBytesMax}}23(?:[0-9a-f]{2}){0,${folderBytesMax}}$`,
);

const fields = cursorOf('deletionId', 'repo');
/** A file's name can have what is between the fields. */
export const deletionCursor = {
  encode: ({ deletionId, repo }: { deletionId: string; repo: string }) =>
    fields.encode({ repo, deletionId: deletionId.replace(/[#%]/g, encodeURIComponent) }),
  decode: (cursor: string) => {
    const { deletionId, repo } = fields.decode(cursor);
    return { repo, deletionId: deletionId.replaceAll('%23', '#').replaceAll('%25', '%') };
  },
};

const deleteRule = 'use dryRun=true or dryRun=false. Nothing was deleted';

/** Whoever misspells dryRun must not lose what was only to be looked at. */
const deleteQuery = z.strictObject(
  { dryRun: flag(deleteRule).meta({ default: false, description: 'Only show what the delete would free.' }) },
  deleteRule,
);

const deletionQuery = pageOf(deletionCursorPattern, deletionCursor.decode).extend(ofRepo);

const deletePlanSchema = z
  .object({
    tenant: z.string(),
    repo: z.string().optional(),
    oid: z.string().optional(),
    objectCount: count.nullable().describe('At the last scan. null: never scanned.'),
    bytes: bytesOrNull,
    dueAt: time.describe(
      'When deletion starts. Objects of open uploads are deleted when these have expired.',
    ),
    waitsFor: z
      .literal('uploads')
      .optional()
      .describe('Why it waits: it was just uploaded, and its upload URL works until `dueAt`.'),
  })
  .meta({ id: 'DeletePlan' });

export type DeletePlanBody = z.output<typeof deletePlanSchema>;

const deletionSchema = z
  .object({
    repo: z.string(),
    oid: z.string().regex(oidPattern),
    sizeBytes: bytes,
    state: z
      .enum(['scheduled', 'deleting'])
      .describe("scheduled: a push that contains it keeps it. deleting: it can't be kept any more."),
    dueAt: time.describe(
      'The earliest time of its deletion. If it was just uploaded, its upload URLs must expire first.',
    ),
  })
  .meta({ id: 'Deletion' });

const keptObjectSchema = z
  .object({ tenant: z.string(), repo: z.string(), oid: z.string().regex(oidPattern), sizeBytes: bytes })
  .meta({ id: 'KeptObject' });

const deletionPageSchema = page('DeletionPage', { deletions: z.array(deletionSchema) });

export type DeletionBody = z.output<typeof deletionSchema>;

const plan = { objectCount: 6, bytes: 14_700_000, dueAt: '2026-11-21T05:00:00Z' };

const deleteAnswers = (path: object) => ({
  200: answer('With dryRun: what the delete would free. Nothing was deleted.', deletePlanSchema, {
    ...path,
    ...plan,
  }),
  202: answer('The delete has started.', deletePlanSchema, { ...path, ...plan }),
});

export const deleteContract = {
  'GET /v1/tenants/{tenant}/deletions': {
    id: 'listDeletions',
    summary: 'Objects scheduled for deletion',
    description:
      "Objects with an individual delete request, by repo. A push of the object removes it from the list. Deletes of whole repos, of files and by garbage collection aren't listed here. A page can be short or empty without being the last.",
    access: 'reader',
    query: deletionQuery,
    answers: {
      200: answer('One page.', deletionPageSchema, {
        deletions: [
          { repo: 'game', oid, sizeBytes: 2_450_000, state: 'scheduled', dueAt: '2026-11-21T06:00:00Z' },
        ],
        nextCursor: null,
      }),
    },
    problems: ['repo-required', 'repo-not-found'],
  },
  'DELETE /v1/tenants/{tenant}': {
    id: 'deleteTenant',
    summary: 'Delete a tenant and all its objects',
    description:
      "Revokes its tokens and deletes its repos. The name can't be reused. A tenant with an adopted repo can't be deleted: another server uses those objects.",
    access: 'admin',
    action: 'tenant.delete',
    query: deleteQuery,
    answers: deleteAnswers({ tenant: 'acme' }),
    problems: ['tenant-has-adopted'],
  },
  'DELETE /v1/tenants/{tenant}/repos/{repo}': {
    id: 'deleteRepo',
    summary: 'Delete a repo and all its objects',
    description: "Pushes and pulls get 404 until it's empty. Then you can reuse its name.",
    access: 'manager',
    action: 'repo.delete',
    query: deleteQuery,
    answers: deleteAnswers({ tenant: 'acme', repo: 'game' }),
    problems: ['repo-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/repos/{repo}/objects/{oid}': {
    id: 'deleteObject',
    summary: 'Delete one object after a grace time',
    description: 'Pushing it again before then keeps it.',
    access: 'manager',
    action: 'object.delete',
    query: deleteQuery,
    answers: deleteAnswers({ tenant: 'acme', repo: 'game', oid }),
    problems: ['object-not-found', 'wrong-kind', 'deletions-full'],
  },
  'POST /v1/tenants/{tenant}/repos/{repo}/objects/{oid}/keep': {
    id: 'keepObject',
    summary: 'Cancel the deletion of one object',
    description: 'As a push of it does. Too late once its deletion has started.',
    access: 'writer',
    action: 'object.keep',
    onlyOpen: true,
    answers: {
      200: answer('It is no longer scheduled for deletion.', keptObjectSchema, {
        tenant: 'acme',
        repo: 'game',
        oid,
        sizeBytes: 2_450_000,
      }),
    },
    problems: ['repo-not-found', 'object-not-found', 'wrong-kind', 'object-deleting'],
  },
} as const satisfies Contract;
