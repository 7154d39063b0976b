import { admitUpload } from '../../../../lambda/core/ledger/admit-upload.ts';
import { defaultSettings } from '../../../../lambda/core/rules/settings.ts';
import { uploadNotFound } from '../../../../lambda/subjects/chunks/lfs-messages.ts';
import { type ChunkMessage, chunkMessage } from '../../../../lambda/subjects/chunks/messages.ts';
import { newUpload } from '../../../../lambda/subjects/chunks/rules/upload.ts';
import { serveChunks } from '../../../../lambda/subjects/chunks/serve.ts';
import { tidyUpload } from '../../../../lambda/subjects/chunks/tidy.ts';
import { createDynamoDbChunkedUploads } from '../../../../lambda/subjects/chunks/upload-store.ts';
import { wakeUploads } from '../../../../lambda/subjects/chunks/wake.ts';
import type { Deps } from '../../../../local/deps.ts';
import { path, type TestedSubject, unsent } from '../../subject.ts';

export const chunks = {
  fill: {
    chunkedUploads: ({ chunkedUploads, settings }, nowMs) =>
      chunkedUploads.put(
        newUpload(settings, { ...path, oid: unsent, upload: 'u', sizeBytes: 100, madeBy: 'ada', nowMs }),
      ),
  },
  kept: [
    {
      what: 'what is known of a chunk, once the claim of its upload has ended, whatever comes of the upload',
      by: ['fixSha256s', 'putProof'].map((name) => `lambda/subjects/chunks/upload-store.ts ${name}`),
      async write({ table, tenant, oid, atMs, second, day }) {
        const uploads = createDynamoDbChunkedUploads(table);
        const id = '0'.repeat(32);
        const of = { tenant, repo: 'app', oid, upload: id, sizeBytes: 1, madeBy: 'ada' };
        const made = newUpload(defaultSettings, { ...of, nowMs: atMs });
        const upload = { ...made, activeUntilMs: atMs + 1, putsUntilMs: atMs + 2 };
        await uploads.fixSha256s(upload, [{ chunk: 3, sha256: '' }]);
        await uploads.putProof(upload, { chunk: 3, before: '', after: '', etag: '', sizeBytes: 1 });
        const place = { pk: `UPLOAD#${id}#${oid}`, end: second + 8 * day };
        return [
          { ...place, sk: '#00003' },
          { ...place, sk: '00003' },
        ];
      },
    },
  ],
  lfsMessages: [uploadNotFound],
  functions: {
    lfsChunks: {
      timeoutSeconds: 25,
      memoryMb: 512,
      variables: ['BUCKET', 'S3_REGION', 'TABLE', 'CHUNK_QUEUE_URL'],
      writes: ['upload-items'],
      answers: {
        method: 'GET',
        path: '/{tenant}/{repo}/info/lfs/chunks/{oid}/{upload}',
        statusCode: 404,
      },
    },
    assembleUpload: {
      timeoutSeconds: 900,
      memoryMb: 1_024,
      variables: ['BUCKET', 'S3_REGION', 'QUEUE_URL', 'TABLE', 'CHUNK_QUEUE_URL'],
      writes: ['assembled-items', 'upload-items'],
    },
  },
  variables: { refresh: ['CHUNK_QUEUE_URL'] },
  queues: {
    chunks: {
      port: 'chunkQueue',
      schema: chunkMessage,
      wake: wakeUploads,
      work: async (deps: Deps, job: ChunkMessage) => job.step === 'tidy' && tidyUpload(deps, job),
    },
  },
  writer: {
    begin: async () => undefined,
    async write(deps, { tenant, repo }) {
      const record = await deps.ledger.readTenant(tenant);
      if (!record) throw new Error('There is no tenant.');
      const objects = new Map([[unsent, 200]]);
      const chunked = new Set(objects.keys());
      await admitUpload(deps, { tenant: record, repo, objects, chunked, madeBy: 'ada' });
      const [upload] = await deps.chunkedUploads.ofObject({ tenant, repo, oid: unsent });
      if (!upload) throw new Error('No upload was begun.');
      const wanted = [0, 1].map((chunk) => ({ chunk, sha256: 'c'.repeat(64) }));
      await serveChunks(deps, upload, { stored: [], wanted });
    },
    end: async () => undefined,
  },
} satisfies TestedSubject;
