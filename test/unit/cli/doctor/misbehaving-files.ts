import { type AskedRequest, errorReply } from '../../../support/lying-store.ts';
import type { Misbehaving } from './examined.ts';

const isConditional = ({ method, headers }: AskedRequest) =>
  method === 'PUT' && headers['if-none-match'] !== undefined;

const isPartUrl = ({ method, query, isPresigned }: AskedRequest) =>
  method === 'PUT' && query.has('partNumber') && isPresigned;

/** Stores that lack what files of any kind need. */
export const misbehavingFiles: readonly Misbehaving[] = [
  {
    name: 'takes no conditions',
    faults: {
      instead: (request) => (isConditional(request) ? errorReply(501, 'NotImplemented') : undefined),
    },
    found: { 'only-new': 'warning' },
    says: { 'only-new': /rejects an upload with If-None-Match \(501\)\.$/ },
  },
  {
    name: 'ignores conditions',
    faults: { overlooks: ({ code }, request) => code === 'PreconditionFailed' && isConditional(request) },
    found: { 'only-new': 'warning' },
    says: { 'only-new': /ignores If-None-Match: an upload replaced an object\.$/ },
  },
  {
    name: 'checks conditions only at the beginning',
    faults: {
      overlooks: ({ code }, { key, body }) =>
        code === 'PreconditionFailed' && key.endsWith('-slow') && body.length > 0,
    },
    found: { 'only-new': 'warning' },
    says: { 'only-new': /only when an upload starts/ },
  },
  {
    name: 'says that it checks conditions, and replaces',
    faults: {
      instead: async (request, store) => {
        const { key, body } = request;
        if (!key.endsWith('-slow') || body.length === 0) return undefined;
        await store.ask(request);
        return errorReply(412, 'PreconditionFailed');
      },
    },
    found: { 'only-new': 'warning' },
    says: { 'only-new': /only when an upload starts/ },
  },
  {
    name: 'does not put empty objects',
    faults: {
      instead: (request) =>
        isConditional(request) && request.body.length === 0 ? errorReply(503, 'SlowDown') : undefined,
    },
    found: { 'only-new': 'warning', throttling: 'warning' },
    says: { 'only-new': /^The check couldn't run: The store did not serve PUT/ },
  },
  {
    name: 'does not say how to save a download',
    faults: {
      changes: ({ headers = {}, ...reply }) => {
        const { 'content-disposition': _, ...others } = headers;
        return { ...reply, headers: others };
      },
    },
    found: { 'download-name': 'warning' },
  },
  {
    name: 'takes no URLs of parts',
    faults: { instead: (request) => (isPartUrl(request) ? errorReply(403, 'AccessDenied') : undefined) },
    found: { 'part-url': 'warning' },
    says: { 'part-url': /rejected: 403 AccessDenied\.$/ },
  },
  {
    name: 'takes longer parts than were signed',
    faults: { overlooks: (_, request) => isPartUrl(request) && request.body.length === 8 },
    found: { 'part-url': 'warning' },
    says: { 'part-url': /accepts another length\.$/ },
  },
  {
    name: 'takes parts of an upload that was aborted',
    faults: {
      changes: (reply, request) => (isPartUrl(request) && reply.status === 404 ? { status: 200 } : reply),
    },
    found: { 'part-url': 'warning' },
    says: { 'part-url': /after its upload was aborted\.$/ },
  },
  {
    name: 'knows no parts',
    faults: {
      instead: ({ query }) => (query.has('uploads') ? errorReply(501, 'NotImplemented') : undefined),
    },
    found: { 'part-url': 'warning' },
    says: { 'part-url': /^The check couldn't run: / },
  },
];
