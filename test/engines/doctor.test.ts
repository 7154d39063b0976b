import { randomBytes } from 'node:crypto';
import {
  CreateBucketCommand,
  ListObjectsV2Command,
  PutBucketCorsCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { corsAdvice } from '../../cli/doctor/file-checks.ts';
import { examine } from '../../cli/doctor/run-checks.ts';
import { describeOn } from './engine.ts';
import { engineCredentials, versitygw } from './s3.ts';

/** 2,700 requests. */
const timeoutMs = 180_000;

describeOn(versitygw, (endpoint) => {
  const origin = 'https://app.example.com';
  const bucket = `doctor-${randomBytes(6).toString('hex')}`;
  const where = { region: 'us-east-1', endpoint, forcePathStyle: true };
  let client: S3Client;

  beforeAll(async () => {
    const credentials = engineCredentials();
    vi.stubEnv('AWS_ACCESS_KEY_ID', credentials.accessKeyId);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', credentials.secretAccessKey);
    client = new S3Client({ ...where, credentials });
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    const [, rules = ''] = /CORS settings: (.*?)\. The/.exec(corsAdvice(origin, { bucket, endpoint })) ?? [];
    const CORSConfiguration = { CORSRules: [JSON.parse(rules)] };
    await client.send(new PutBucketCorsCommand({ Bucket: bucket, CORSConfiguration }));
  });
  afterAll(() => {
    client.destroy();
    vi.unstubAllEnvs();
  });

  it(
    'passes what the doctor checks, and keeps nothing of it',
    async () => {
      const target = { bucket, prefix: 'a/probe/', endpoint, region: 'us-east-1' };
      const examined = await examine(
        { ...target, isThorough: true, largestBytes: 100_000_000, origin },
        { signal: new AbortController().signal, onResult: () => {} },
      );
      // It ignores EncodingType=url, as the contract suite of the object store says as well.
      expect(examined.results.filter(({ outcome }) => outcome !== 'pass').map(({ id }) => id)).toEqual([
        'list-encoding',
      ]);
      expect(examined.holds).toMatchObject({
        checksumEnforced: true,
        lengthEnforced: true,
        startAfter: 'exact',
        listOrder: 'utf8',
        listConsistency: 'strong',
        maxPutBytes: 100_000_000,
        partRules: { multipart: true, uploadPartCopy: true },
      });
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
      expect(Contents).toEqual([]);
    },
    timeoutMs,
  );
});
