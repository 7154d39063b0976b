import { filesPerRequest } from '../../../../lambda/subjects/files/contract.ts';
import { filesMax } from '../../../../lambda/subjects/files/routes.ts';
import { fileNameBytesMax } from '../../../../lambda/subjects/files/rules/names.ts';
import type { TestedSubject } from '../../subject.ts';
import { filesRuns } from './cli-runs.ts';

export const files = {
  limits: {
    'Push and fetch': {
      'Files in a request of the files API': filesPerRequest,
      'Bytes in the name of a file': fileNameBytesMax,
    },
    'A tenant': { 'Files in a repo of kind files': filesMax },
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
