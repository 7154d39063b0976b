import { objectKey } from '../../../../lambda/core/rules/names.ts';
import { fileNameBytesMax } from '../../../../lambda/frame/access/rules/file-names.ts';
import { filesPerRequest } from '../../../../lambda/subjects/files/contract.ts';
import { path, type TestedSubject } from '../../subject.ts';
import { filesRuns } from './cli-runs.ts';

export const files = {
  fill: {
    partUploads: async ({ partUploads, archives }, createdAtMs) => {
      const { uploadId } = await archives.createUpload(objectKey({ ...path, oid: 'a/b' }));
      await partUploads.put({
        ...path,
        name: 'a/b',
        upload: 'e'.repeat(32),
        multipartId: uploadId,
        sizeBytes: 6 * 1024 ** 3,
        partBytes: 1024 ** 3,
        madeBy: 'ada',
        state: 'open',
        mayBeStored: false,
        createdAtMs,
        putsUntilMs: createdAtMs,
        dueAtMs: createdAtMs + 24 * 60 * 60_000,
      });
    },
  },
  limits: {
    'Push and fetch': {
      'Files in a request of the files API': filesPerRequest,
      'Bytes in the name of a file': fileNameBytesMax,
    },
  },
  functions: {
    files: {
      timeoutSeconds: 25,
      memoryMb: 1_024,
      variables: ['ADMIN_SECRET_ARN', 'BUCKET', 'S3_REGION', 'QUEUE_URL', 'TABLE'],
      writes: ['file-items', 'file-notes', 'token-use'],
      answers: { method: 'GET', path: '/v1/tenants/{tenant}/repos/{repo}/files', statusCode: 401 },
    },
  },
  runs: { files: filesRuns },
} satisfies TestedSubject;
