import { randomBytes } from 'node:crypto';
import { type Check, type Finding, fail, pass, skip, warn } from './check.ts';
import { type Probe, sha256Of } from './probe.ts';
import { describeOutcome, isAccepted, messageOf, type RawOutcome } from './raw-request.ts';

/** What the service does all day: uploads and downloads by its own signed URLs. */
export const uploadChecks: readonly Check[] = [
  { id: 'upload', isEssential: true, run: uploadHonestly },
  { id: 'checksum-kept', run: readChecksum },
  { id: 'download', run: download },
  { id: 'versioning', run: lookForVersions },
  { id: 'overwrite', run: overwrite },
  { id: 'two-at-once', run: uploadTwiceAtOnce },
];

interface HonestUpload {
  readonly key: string;
  readonly body: Buffer;
  readonly outcome: RawOutcome;
}

/** An object that was uploaded as git-lfs would, once a run. */
function honestUpload(probe: Probe): Promise<HonestUpload> {
  return probe.once('honest upload', async () => {
    const key = probe.newKey();
    const body = randomBytes(4000);
    return { key, body, outcome: await probe.upload(key, body) };
  });
}

async function uploadHonestly(probe: Probe): Promise<Finding> {
  const { key, body, outcome } = await honestUpload(probe);
  if (!isAccepted(outcome)) {
    return fail(
      `The store refused an upload with signed Content-Length and x-amz-checksum-sha256: ${describeOutcome(outcome)}. ${messageOf(outcome)}`.trim(),
      'Check that the key may write to the bucket. If it may, the store does not support what the service relies on.',
    );
  }
  const stored = await probe.head(key);
  if (stored?.sizeBytes !== body.length) {
    return fail(
      `The store accepted ${body.length} bytes, but a HEAD tells ${stored === undefined ? 'of no object' : `${stored.sizeBytes} bytes`}.`,
      'Sizes would be counted wrong: do not use this store.',
    );
  }
  return pass(`An upload by a signed URL arrives, and a HEAD tells its ${body.length} bytes.`);
}

async function readChecksum(probe: Probe): Promise<Finding> {
  const { key, body } = await honestUpload(probe);
  const sha256 = (await probe.head(key))?.sha256;
  if (sha256 === undefined)
    return pass('The store does not keep the SHA-256 of an upload; the service does not need it.', {
      checksumKept: false,
    });
  if (sha256 !== sha256Of(body))
    return warn(
      'A HEAD tells another SHA-256 than that of the upload.',
      'Report it to the makers of the store.',
      {
        checksumKept: false,
      },
    );
  return pass('A HEAD tells the SHA-256 of the upload.', { checksumKept: true });
}

async function download(probe: Probe): Promise<Finding> {
  const { key, body } = await honestUpload(probe);
  const { href } = await probe.signDownload(key);
  const outcome = await probe.sendRaw({ method: 'GET', href });
  if (!isAccepted(outcome)) {
    const why = `${describeOutcome(outcome)}. ${messageOf(outcome)}`.trim();
    return fail(
      `The store refused a download by a signed URL: ${why}`,
      'Check that the key may read objects.',
    );
  }
  if (outcome.kind !== 'answer' || !outcome.body.equals(body))
    return fail('A download gives other bytes than were uploaded.', 'Do not use this store.');
  return pass('A download by a signed URL gives the bytes that were uploaded.');
}

async function lookForVersions(probe: Probe): Promise<Finding> {
  const { outcome } = await honestUpload(probe);
  if (outcome.kind !== 'answer') return skip('The upload had no answer.');
  const version = outcome.headers['x-amz-version-id'];
  if (version === undefined || version === 'null')
    return pass('The bucket keeps no old versions.', { versioned: false });
  return warn(
    'The bucket is versioned: deleted objects stay in it, billed and in no listing.',
    'Suspend versioning, or let a lifecycle rule delete noncurrent versions. This run leaves some below its prefix.',
    { versioned: true },
  );
}

async function overwrite(probe: Probe): Promise<Finding> {
  const key = probe.newKey();
  const [first, second] = [randomBytes(1000), randomBytes(1500)];
  await probe.put(key, first);
  for (const [what, body] of [['the same bytes', first] as const, ['other bytes', second] as const]) {
    const outcome = await probe.upload(key, body);
    if (!isAccepted(outcome)) {
      return fail(
        `Uploading ${what} to a key that exists is refused: ${describeOutcome(outcome)}.`,
        'A push that is repeated would fail: switch off object lock or retention on this bucket.',
      );
    }
    const stored = await probe.head(key);
    if (stored?.sizeBytes !== body.length) {
      return fail(
        `After overwriting, a HEAD tells ${stored?.sizeBytes ?? 'no'} bytes instead of ${body.length}.`,
        'Sizes would be counted wrong: do not use this store.',
      );
    }
  }
  return pass('An object can be uploaded again, and overwritten.');
}

async function uploadTwiceAtOnce(probe: Probe): Promise<Finding> {
  const key = probe.newKey();
  const body = randomBytes(50_000);
  const outcomes = await Promise.all([probe.upload(key, body), probe.upload(key, body)]);
  const { href } = await probe.signDownload(key);
  const stored = await probe.sendRaw({ method: 'GET', href });
  if (stored.kind !== 'answer' || !stored.body.equals(body)) {
    return fail(
      `Two uploads of one object at once leave something else in the store (${describeOutcome(stored)}).`,
      'Two people who push the same file would lose it: do not use this store.',
    );
  }
  const refused = outcomes.filter((outcome) => !isAccepted(outcome)).map(describeOutcome);
  if (refused.length > 0) {
    return warn(
      `Of two uploads of one object at once, the store refused one: ${refused.join(', ')}.`,
      'The object is stored, but one of two people who push the same file sees an error, and has to push again.',
    );
  }
  return pass('Two uploads of one object at once are both accepted, and the object is whole.');
}
