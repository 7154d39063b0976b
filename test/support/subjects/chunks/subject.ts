import { defaultSettings } from '../../../../lambda/core/rules/settings.ts';
import { uploadNotFound } from '../../../../lambda/subjects/chunks/lfs-messages.ts';
import { newUpload } from '../../../../lambda/subjects/chunks/rules/upload.ts';
import { createDynamoDbChunkedUploads } from '../../../../lambda/subjects/chunks/upload-store.ts';
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
} satisfies TestedSubject;
