import { createHash } from 'node:crypto';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { formatNumber, formatTable } from '../cost/tables.ts';
import { S3UrlSigner } from '../lambda/adapters/s3/url-signer.ts';
import { median } from './statistics.ts';

const uploads = 100;
const rounds = 15;

/** What it costs to sign a batch of 100 uploads. */
export interface SignCost {
  readonly way: string;
  readonly cpuMsPerBatch: number;
  readonly wallMsPerBatch: number;
}

/** Presigns batches of 100 uploads with the SDK's getSignedUrl and with the signer of the batch function. */
export async function benchSign(print: (text: string) => void): Promise<SignCost[]> {
  const credentials = {
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'secret',
    sessionToken: 'token'.repeat(60),
  };
  const client = new S3Client({
    region: 'us-east-1',
    credentials,
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
  const signer = new S3UrlSigner({
    bucket: 'bucket',
    region: 'us-east-1',
    credentials: async () => credentials,
  });
  const objects = Array.from({ length: uploads }, (_, index) => {
    const oid = createHash('sha256').update(String(index)).digest('hex');
    return { key: `acme/app/${oid}`, oid, sizeBytes: 1 + index };
  });

  const ways: Readonly<Record<string, () => Promise<string[]>>> = {
    'SDK getSignedUrl': () =>
      Promise.all(
        objects.map(({ key, oid, sizeBytes }) => {
          const ChecksumSHA256 = Buffer.from(oid, 'hex').toString('base64');
          const input = { Bucket: 'bucket', Key: key, ContentLength: sizeBytes, ChecksumSHA256 };
          const unhoistableHeaders = new Set(['x-amz-checksum-sha256', 'content-length']);
          return getSignedUrl(client, new PutObjectCommand(input), { expiresIn: 1800, unhoistableHeaders });
        }),
      ),
    S3UrlSigner: async () => {
      const signedAtMs = Date.now();
      const signed = objects.map((object) =>
        signer.signUpload({ ...object, signedAtMs, lifetimeMs: 1_800_000 }),
      );
      return (await Promise.all(signed)).map(({ href }) => href);
    },
  };

  const samples = new Map<string, { cpuMs: number; wallMs: number }[]>();
  // The ways alternate, so that other load on the machine affects both alike. The first rounds warm up.
  for (let round = -5; round < rounds; round += 1) {
    for (const [way, sign] of Object.entries(ways)) {
      const sample = await measure(sign);
      if (round >= 0) samples.set(way, [...(samples.get(way) ?? []), sample]);
    }
  }
  const costs = [...samples].map(([way, taken]) => ({
    way,
    cpuMsPerBatch: median(taken.map((sample) => sample.cpuMs)),
    wallMsPerBatch: median(taken.map((sample) => sample.wallMs)),
  }));
  const base = costs[0]?.cpuMsPerBatch ?? Number.NaN;
  const rows = costs.map(({ way, cpuMsPerBatch, wallMsPerBatch }) => [
    way,
    cpuMsPerBatch.toFixed(2),
    wallMsPerBatch.toFixed(2),
    formatNumber(base / cpuMsPerBatch),
  ]);
  const header = ['signing 100 uploads', 'CPU ms', 'wall ms', '× less CPU'];
  print(`${formatTable(header, rows)}\n`);
  return costs;
}

/** CPU and wall time of one batch: the mean of ten in a row, because the CPU clock is coarse. */
async function measure(sign: () => Promise<string[]>): Promise<{ cpuMs: number; wallMs: number }> {
  const repeats = 10;
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    if ((await sign()).length !== uploads) throw new Error('Not every upload was signed.');
  }
  const { user, system } = process.cpuUsage(cpu);
  return { cpuMs: (user + system) / 1000 / repeats, wallMs: (performance.now() - startedMs) / repeats };
}
