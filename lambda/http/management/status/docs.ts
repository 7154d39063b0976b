import type { OperationDocs } from '../../operation-docs.ts';
import { type StatusBody, statusSchema } from './schemas.ts';

const example: StatusBody = {
  checkedAt: '2026-11-21T05:00:00Z',
  state: 'fine',
  parts: [
    {
      part: 'store',
      state: 'fine',
      says: 'The object store (lfs-objects) answers, in 24 ms.',
      todo: null,
    },
    {
      part: 'recounts',
      state: 'fine',
      says: 'Recounts: 3 waiting, 1 under way, no dead letters.',
      todo: null,
    },
    {
      part: 'failures',
      state: 'fine',
      says: 'Nothing failed that was not made up for since.',
      todo: null,
    },
  ],
  store: { kind: 's3', bucket: 'lfs-objects', endpoint: null, latencyMs: 24 },
  schedule: { ranAt: '2026-11-21T04:58:20Z', handedUntil: '2026-11-21T04:58:10Z' },
  overdue: { tenants: [], more: false },
  queues: [
    {
      queue: 'recounts',
      waiting: 3,
      running: 1,
      oldestAt: null,
      deadLetters: 0,
      deadLettersAt: 'https://sqs.eu-central-1.amazonaws.com/111122223333/recounts-dead.fifo',
    },
  ],
  failures: [
    {
      kind: 'recount',
      tenant: 'acme',
      failedAt: '2026-11-21T04:56:00Z',
      since: '2026-11-21T04:50:00Z',
      tries: 4,
      why: 'store',
      over: true,
    },
  ],
};

/** What the operator looks at first. */
export const statusDocs = {
  'GET /v1/status': {
    id: 'readStatus',
    summary: 'What failed; store, queues and schedule at a glance',
    description:
      'Asked anew each time. What does not answer within 8 s is shown as unknown, with what to do; the answer is 200 all ' +
      'the same. It takes one LIST, two requests for each queue and some ten read units of the table.',
    access: 'admin',
    answers: { 200: { description: 'All of it.', schema: statusSchema, example } },
  },
} satisfies OperationDocs;
