import { pageQuery } from '../../../api/contract/fields.ts';
import type { OperationDocs } from '../../operation-docs.ts';
import { steerCountBody } from './requests.ts';
import { countPageSchema, countSchema } from './schemas.ts';

const count = {
  repo: 'footage',
  kind: 'first',
  state: 'running',
  progress: {
    share: 0.25,
    objectCount: 125_000_000,
    listRequests: 126_400,
    objectsPerSecond: 694_444.4,
    secondsLeft: 540,
    beganAt: '2026-11-21T05:00:00Z',
    updatedAt: '2026-11-21T05:03:00Z',
  },
};

/** The counts of giant repos. */
export const countDocs = {
  'GET /v1/tenants/{tenant}/counts': {
    id: 'listCounts',
    summary: 'How far the counts of giant repos are',
    description:
      'Repos that are counted by shards, by name. A page may be shorter than asked for, or empty, without being the last.',
    access: 'reader',
    query: pageQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: countPageSchema,
        example: { counts: [count], nextCursor: null },
      },
    },
    problems: ['tenant-not-found'],
  },
  'PATCH /v1/tenants/{tenant}/repos/{repo}/count': {
    id: 'changeCount',
    summary: 'Pause the count of a giant repo, resume it, or give up a recount',
    description:
      'What was counted stays. Pushes and deletes go on, and are counted. A first count can only be paused: until it has ' +
      'ended, nobody knows what the repo holds.',
    access: 'manager',
    action: 'count.steer',
    body: { schema: steerCountBody, example: { state: 'paused' } },
    answers: {
      200: { description: 'The count.', schema: countSchema, example: { ...count, state: 'paused' } },
    },
    problems: ['tenant-not-found', 'repo-not-found', 'count-not-ended'],
  },
} satisfies OperationDocs;
