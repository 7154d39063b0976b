import { createHash } from 'node:crypto';
import {
  type CompletedPart,
  CompleteMultipartUploadCommand,
  type CompleteMultipartUploadCommandInput,
  CreateMultipartUploadCommand,
  type CreateMultipartUploadCommandInput,
  GetObjectCommand,
  type S3Client,
  S3ServiceException,
  UploadPartCommand,
  type UploadPartCommandInput,
} from '@aws-sdk/client-s3';
import { expect } from 'vitest';
import { md5Hex } from '../support/body-digests.ts';
import type { Context } from './object-store-context.ts';

/** S3's least size of a part that is not the last. */
export const partBytes = 5 * 1024 * 1024;

/** Bytes that differ from place to place, so that a wrong range or order shows. */
export function bytesOf(sizeBytes: number, seed: string): Buffer {
  const line = createHash('sha512').update(seed).digest();
  const bytes = Buffer.alloc(sizeBytes, line);
  for (let at = 0; at + 4 <= sizeBytes; at += 4096) bytes.writeUInt32BE(at, at);
  return bytes;
}

/** The ETag of an object of these parts. */
export function etagOf(parts: readonly Buffer[]): string {
  const hash = createHash('md5');
  for (const part of parts) hash.update(Buffer.from(md5Hex(part), 'hex'));
  return `"${hash.digest('hex')}-${parts.length}"`;
}

/** An upload in parts, with the SDK. */
export class PartsUpload {
  readonly client: S3Client;
  readonly where: { readonly Bucket: string; readonly Key: string; readonly UploadId: string };

  private constructor(client: S3Client, where: PartsUpload['where']) {
    this.client = client;
    this.where = where;
  }

  static async begin(
    { target }: Context,
    Key: string,
    more: Partial<CreateMultipartUploadCommandInput> = {},
  ): Promise<PartsUpload> {
    const { client, bucket: Bucket } = sdkOf(target);
    const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, ...more }));
    return new PartsUpload(client, { Bucket, Key, UploadId: UploadId ?? '' });
  }

  async part(
    PartNumber: number,
    Body: Buffer,
    more: Partial<UploadPartCommandInput> = {},
  ): Promise<CompletedPart> {
    const input = { ...this.where, PartNumber, Body, ...more };
    const { ETag } = await this.client.send(new UploadPartCommand(input));
    return { PartNumber, ETag };
  }

  async complete(Parts: CompletedPart[], more: Partial<CompleteMultipartUploadCommandInput> = {}) {
    return await this.client.send(
      new CompleteMultipartUploadCommand({ ...this.where, MultipartUpload: { Parts }, ...more }),
    );
  }
}

/** The SDK for what the adapters do not do. */
export function sdkOf(target: Context['target']): { client: S3Client; bucket: string } {
  if (target.sdk === undefined) throw new Error('This store has no SDK: set `skips.multipart`.');
  return target.sdk;
}

export async function readObject({ target }: Context, Key: string, more: object = {}): Promise<Buffer> {
  const { client, bucket: Bucket } = sdkOf(target);
  const { Body } = await client.send(new GetObjectCommand({ Bucket, Key, ...more }));
  return Buffer.from((await Body?.transformToByteArray()) ?? []);
}

/** Expects that a call is refused with this code of S3. */
export async function refused(call: Promise<unknown>, code: string, status = 400): Promise<void> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(S3ServiceException);
  if (!(error instanceof S3ServiceException)) return;
  expect({ code: error.name, status: error.$metadata.httpStatusCode }).toEqual({ code, status });
}
