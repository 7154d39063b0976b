import { vi } from 'vitest';

/** What the bundler puts into a function of a stage with the defaults. */
export const defaults = {
  protocol: undefined,
  adoptedRepos: undefined,
  identityIssuers: undefined,
  gitHosts: undefined,
  limitContactUrl: undefined,
  storageClasses: undefined,
};

/** The environment of a container. */
export function deployedWith(variables: Readonly<Record<string, string | undefined>>): void {
  vi.stubGlobal('stageJson', defaults);
  vi.stubEnv('LFS_QUOTA_TABLE', 'ledger');
  vi.stubEnv('LFS_QUOTA_QUEUE_URL', 'https://sqs.eu-central-1.amazonaws.com/111122223333/reconciles.fifo');
  vi.stubEnv('LFS_QUOTA_BUCKET', 'objects');
  vi.stubEnv('LFS_QUOTA_S3_REGION', 'eu-central-1');
  vi.stubEnv('LFS_QUOTA_ADMIN_SECRET_ARN', 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:admin');
  vi.stubEnv('LFS_QUOTA_CHUNK_QUEUE_URL', 'https://sqs.eu-central-1.amazonaws.com/111122223333/chunks');
  vi.stubEnv('LFS_QUOTA_WEBHOOK_QUEUE_URL', 'https://sqs.eu-central-1.amazonaws.com/111122223333/webhooks');
  vi.stubEnv('LFS_QUOTA_GAUGED_QUEUES', '{"reconciles":["1","2"]}');
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'ASIAROLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
}

/** Variables of a stage that makes exports. */
export const withExports = {
  LFS_QUOTA_EXPORT_QUEUE_URL: 'https://sqs.eu-central-1.amazonaws.com/111122223333/exports',
  LFS_QUOTA_EXPORT_STORE: 'r2',
  LFS_QUOTA_EXPORT_WORKERS: '20',
  LFS_QUOTA_EXPORT_PER_TENANT: '9',
  LFS_QUOTA_EXPORT_KEEP_DAYS: '2',
};
