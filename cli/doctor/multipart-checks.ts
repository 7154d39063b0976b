import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { StoreAnswerError } from '../../lambda/adapters/s3/answers.ts';
import { escapePath } from '../../lambda/adapters/s3/sigv4.ts';
import { type Check, type Finding, pass, skip, warn } from './check.ts';
import { deleteMsMax } from './limits.ts';
import type { Probe } from './probe.ts';

/** Uploads in parts and copies. The service does not use them today, so nothing here can fail. */
export const multipartChecks: readonly Check[] = [
  { id: 'multipart', isOptional: true, run: uploadParts },
  { id: 'multipart-small', isOptional: true, run: uploadSmallParts },
  { id: 'multipart-unequal', isOptional: true, run: uploadUnequalParts },
  { id: 'copy-part', isOptional: true, run: copyPart },
];

/** S3's least size of a part that is not the last. */
const partBytes = 5 * 1024 * 1024;

const advice = 'The service does not need it today: nothing has to be done.';

type Attempt =
  | { readonly isDone: true; readonly key: string }
  | { readonly isDone: false; readonly why: string };

const one = Buffer.from('x');
const part = () => Buffer.alloc(partBytes, 'p');

/** The object of the first check, from which parts are copied. */
const wholeParts = (probe: Probe) => probe.once('parts', () => upload(probe, [part(), one]));

async function uploadParts(probe: Probe): Promise<Finding> {
  const attempt = await wholeParts(probe);
  const facts = { partRules: { multipart: attempt.isDone } };
  if (attempt.isDone) return pass('A multipart upload of 5 MiB and one byte becomes one object.', facts);
  return warn(`A multipart upload does not work: ${attempt.why}.`, advice, facts);
}

async function uploadSmallParts(probe: Probe): Promise<Finding> {
  if (!(await wholeParts(probe)).isDone) return skip('There are no multipart uploads.');
  const { isDone } = await upload(probe, [Buffer.alloc(1024, 'p'), one]);
  const facts = { partRules: { smallParts: isDone } };
  if (isDone) return pass('Parts of 1 KiB are accepted.', facts);
  return pass('Parts of 1 KiB are refused, as at AWS: all but the last have 5 MiB or more.', facts);
}

async function uploadUnequalParts(probe: Probe): Promise<Finding> {
  if (!(await wholeParts(probe)).isDone) return skip('There are no multipart uploads.');
  const attempt = await upload(probe, [part(), Buffer.concat([part(), one]), one]);
  const facts = { partRules: { equalParts: !attempt.isDone } };
  if (attempt.isDone) return pass('Parts may have different sizes.', facts);
  return warn(`Parts of different sizes are refused, as at R2: ${attempt.why}.`, advice, facts);
}

async function copyPart(probe: Probe): Promise<Finding> {
  const source = await wholeParts(probe);
  if (!source.isDone) return skip('There are no multipart uploads.');
  const attempt = await upload(probe, [{ from: source.key, bytes: partBytes }, one]);
  const facts = { partRules: { uploadPartCopy: attempt.isDone } };
  if (attempt.isDone) return pass('A part can be copied from another object.', facts);
  return warn(`A part cannot be copied from another object: ${attempt.why}.`, advice, facts);
}

type PartSource = Buffer | { readonly from: string; readonly bytes: number };

const bytesOf = (source: PartSource) => (Buffer.isBuffer(source) ? source.length : source.bytes);

/** Uploads an object in parts, and looks whether it has all of them. */
function upload(probe: Probe, parts: readonly PartSource[]): Promise<Attempt> {
  return attempted(async () => {
    const Key = probe.newKey();
    const where = { Bucket: probe.target.bucket, Key };
    probe.written.add(Key);
    const { UploadId } = await probe.send((client) => client.send(new CreateMultipartUploadCommand(where)));
    if (UploadId === undefined) throw new Error('the answer names no upload');
    probe.partUploads.set(UploadId, Key);
    const Parts = [];
    for (const [index, source] of parts.entries()) {
      const input = { ...where, UploadId, PartNumber: index + 1 };
      Parts.push({ PartNumber: index + 1, ETag: await sendPart(probe, input, source) });
    }
    const complete = new CompleteMultipartUploadCommand({ ...where, UploadId, MultipartUpload: { Parts } });
    await probe.send((client) => client.send(complete));
    probe.partUploads.delete(UploadId);
    return await sizeMatches(
      probe,
      Key,
      parts.reduce((sum, source) => sum + bytesOf(source), 0),
    );
  });
}

async function sendPart(
  probe: Probe,
  input: { Bucket: string; Key: string; UploadId: string; PartNumber: number },
  source: PartSource,
): Promise<string | undefined> {
  if (Buffer.isBuffer(source)) {
    const command = new UploadPartCommand({ ...input, Body: source });
    return (await probe.send((client) => client.send(command))).ETag;
  }
  const CopySource = `${input.Bucket}/${escapePath(source.from)}`;
  const CopySourceRange = `bytes=0-${source.bytes - 1}`;
  const command = new UploadPartCopyCommand({ ...input, CopySource, CopySourceRange });
  return (await probe.send((client) => client.send(command))).CopyPartResult?.ETag;
}

async function sizeMatches(probe: Probe, key: string, sizeBytes: number): Promise<string> {
  const stored = await probe.head(key);
  if (stored?.sizeBytes !== sizeBytes)
    throw new Error(`${stored?.sizeBytes ?? 'no'} bytes are stored instead of ${sizeBytes}`);
  return key;
}

/** A refusal is a finding here; an abort is not. */
async function attempted(run: () => Promise<string>): Promise<Attempt> {
  try {
    return { isDone: true, key: await run() };
  } catch (error) {
    if (!(error instanceof Error) || error.name === 'AbortError') throw error;
    const code = error instanceof StoreAnswerError ? `${error.name}: ` : '';
    return { isDone: false, why: `${code}${error.message}`.slice(0, 200).replace(/\.$/, '') };
  }
}

/** Ends the uploads that were not completed. @returns how many could not be ended. */
export async function abortPartUploads(probe: Probe): Promise<number> {
  const { bucket } = probe.target;
  let failed = 0;
  for (const [UploadId, Key] of probe.partUploads) {
    const command = new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId });
    const abortSignal = AbortSignal.timeout(deleteMsMax);
    await probe.client.send(command, { abortSignal }).catch(() => {
      failed += 1;
    });
  }
  return failed;
}
