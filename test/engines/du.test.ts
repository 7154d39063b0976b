import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { commandLine } from '../support/child-stack.ts';
import { Random } from '../support/random.ts';
import { describeOn } from './engine.ts';
import { engineCredentials, versitygw } from './s3.ts';

describeOn(versitygw, (endpoint) => {
  const credentials = engineCredentials();
  const client = new S3Client({ region: 'us-east-1', endpoint, forcePathStyle: true, credentials });
  const Bucket = `du-${randomBytes(6).toString('hex')}`;
  const random = new Random(50);
  /** Key → its versions, the newest last. A delete marker has no bytes. */
  const model = new Map<string, (number | 'marker')[]>();
  const unfinished = { uploads: 0, bytes: 0 };

  beforeAll(async () => {
    await client.send(new CreateBucketCommand({ Bucket }));
    const VersioningConfiguration = { Status: 'Enabled' } as const;
    await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }));
    for (let step = 0; step < 600; step += 1) {
      const Key = `${random.pick(['a', 'b/c', 'ü d'])}/${random.int(0, 60)}`;
      const versions = model.get(Key) ?? [];
      model.set(Key, versions);
      // versitygw lists what is put over a delete marker as another one.
      if (versions.at(-1) === 'marker') continue;
      if (versions.length > 0 && random.chance(0.15)) {
        await client.send(new DeleteObjectCommand({ Bucket, Key }));
        versions.push('marker');
      } else {
        const bytes = random.int(0, 2000);
        await client.send(
          new PutObjectCommand({ Bucket, Key, Body: Buffer.alloc(bytes), ContentLength: bytes }),
        );
        versions.push(bytes);
      }
    }
    for (const sizes of [[], [10], [20, 30]]) {
      const Key = `open/${sizes.length}`;
      const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key }));
      unfinished.uploads += 1;
      for (const [index, bytes] of sizes.entries()) {
        const part = { Bucket, Key, UploadId, PartNumber: index + 1, Body: Buffer.alloc(bytes) };
        await client.send(new UploadPartCommand(part));
        unfinished.bytes += bytes;
      }
    }
  }, 120_000);
  afterAll(() => client.destroy());

  it.each(['probe', 'sixteen', 'sequential'])('du --all is exact, from %s', async (strategy) => {
    const args = ['du', `s3://${Bucket}`, '--all', '--json', '--endpoint', endpoint, '--strategy', strategy];
    const { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY } = credentials;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', commandLine, ...args],
      {
        env: { ...process.env, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY },
      },
    );
    const keys = [...model.values()];
    const sum = (sizes: (number | 'marker' | undefined)[]) => {
      const stored = sizes.filter((size) => typeof size === 'number');
      return { objects: stored.length, bytes: stored.reduce((all, size) => all + size, 0) };
    };
    const current = sum(keys.map((versions) => versions.at(-1)));
    const oldVersions = sum(keys.flatMap((versions) => versions.slice(0, -1)));
    expect(JSON.parse(stdout)).toMatchObject({
      objects: model.size,
      current,
      oldVersions,
      deleteMarkers: keys.flat().filter((size) => size === 'marker').length,
      unfinished: { ...unfinished, isWhole: true },
      billedBytes: current.bytes + oldVersions.bytes + unfinished.bytes,
    });
  });
});
