import type { OperationDocs } from '../../operation-docs.ts';
import { oid } from '../objects/docs.ts';
import { deleteQuery, deletionQuery } from './requests.ts';
import { deletePlanSchema, deletionPageSchema } from './schemas.ts';

const plan = { objectCount: 6, bytes: 14_700_000, dueAt: '2026-11-21T05:00:00Z' };

const deleteAnswers = (path: object) => ({
  200: {
    description: 'With dryRun: what the delete would free. Nothing was deleted.',
    schema: deletePlanSchema,
    example: { ...path, ...plan },
  },
  202: {
    description: 'The delete has begun.',
    schema: deletePlanSchema,
    example: { ...path, ...plan },
  },
});

/** Deletes. */
export const deleteDocs = {
  'GET /v1/tenants/{tenant}/deletions': {
    id: 'listDeletions',
    summary: 'Objects that are marked for deletion, and when they go',
    description:
      'Those that somebody asked to delete one by one, repo by repo. One that was pushed again since is not marked any ' +
      'more. What goes with a whole repo, or by a clean-up, is told by those. A page may be shorter than asked for, or ' +
      'empty, without being the last.',
    access: 'reader',
    query: deletionQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: deletionPageSchema,
        example: {
          deletions: [
            { repo: 'game', oid, sizeBytes: 2_450_000, state: 'marked', dueAt: '2026-11-21T06:00:00Z' },
          ],
          nextCursor: null,
        },
      },
    },
    problems: ['tenant-not-found', 'repo-required', 'repo-not-found'],
  },
  'DELETE /v1/tenants/{tenant}': {
    id: 'deleteTenant',
    summary: 'Delete a tenant with all that it stores',
    description:
      'Revokes its tokens and empties its repos. The name stays taken. While the stage adopts a repo of it, this is ' +
      'refused: the objects lie where another server put them.',
    access: 'admin',
    action: 'tenant.delete',
    query: deleteQuery,
    answers: deleteAnswers({ tenant: 'acme' }),
    problems: ['tenant-not-found', 'tenant-has-adopted'],
  },
  'DELETE /v1/tenants/{tenant}/repos/{repo}': {
    id: 'deleteRepo',
    summary: 'Delete a repo with all that it stores',
    description: 'Pushes and pulls answer 404 until it is empty. Then its name can be used anew.',
    access: 'manager',
    action: 'repo.delete',
    query: deleteQuery,
    answers: deleteAnswers({ tenant: 'acme', repo: 'game' }),
    problems: ['tenant-not-found', 'repo-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/repos/{repo}/objects/{oid}': {
    id: 'deleteObject',
    summary: 'Delete one object after a grace time',
    description: 'Pushing it again before then keeps it.',
    access: 'manager',
    action: 'object.delete',
    query: deleteQuery,
    answers: deleteAnswers({ tenant: 'acme', repo: 'game', oid }),
    problems: ['tenant-not-found', 'object-not-found', 'deletions-full'],
  },
} satisfies OperationDocs;
