import { afterEach, expect, it, vi } from 'vitest';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

it('signs chunks for the bucket, also if the stage has CloudFront', async () => {
  vi.stubGlobal('stageJson', {});
  const variables = {
    LFS_QUOTA_TABLE: 'ledger',
    LFS_QUOTA_BUCKET: 'objects',
    LFS_QUOTA_S3_REGION: 'eu-central-1',
    LFS_QUOTA_CDN_URL: 'https://d1.cloudfront.net',
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'ASIAROLE',
    AWS_SECRET_ACCESS_KEY: 'secret',
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  const { chunksDeps } = await import('../../../../../lambda/functions/chunks/lfs-chunks.ts');
  const oid = 'ab'.repeat(32);
  const of = { key: `_parts/${oid}`, oid, sizeBytes: 1, signedAtMs: Date.now(), lifetimeMs: 60_000 };
  const { href } = await chunksDeps().signer.signUpload(of);
  expect(href).toMatch(/^https:\/\/objects\.s3\.eu-central-1/);
});
