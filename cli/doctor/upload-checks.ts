import { randomBytes } from 'node:crypto';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { escapePath } from '../../lambda/core/store/signing.ts';
import { systemClock } from '../../lambda/frame/aws/clock-and-ids.ts';
import { explainStoreError } from '../du/store-errors.ts';
import { CliError } from '../errors.ts';
import { type Check, check, type Finding, fail, warning } from './check.ts';
import {
  type Announced,
  describeOutcome,
  explainOutcome,
  isAccepted,
  type Probe,
  type RawOutcome,
  sha256Of,
} from './probe.ts';

/** Signed requests are refused by most stores from 15 minutes on, by some from 5. */
const clockFailsMs = 300_000;
/** Longest time for which a reservation still covers uploads by a URL that has expired. */
const lateMsMax = defaultSettings.reservationSlackMs - defaultSettings.clockSkewMs;
const late = `${lateMsMax / 1000} s after its URL expired`;
/** How long a store may take to notice that a client is gone, before the doctor looks what it stored. */
const settleMs = 500;

const miscounted = "Don't use this store: sizes would be wrong.";

/** Can the store be reached, with these credentials, and does it agree about the time? */
export const accessChecks: readonly Check[] = [
  check(
    'credentials',
    'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run: aws sso login',
    async (probe) => {
      const found = await probe.client.config.credentials().catch(() => undefined);
      if (found === undefined) return fail('No credentials for the store.');
      const isLasting = found.sessionToken === undefined;
      const kind = isLasting ? 'a long-lived key' : 'a session: its signed URLs end with it';
      return `Found the access key …${found.accessKeyId.slice(-4)}: ${kind}.`;
    },
  ),
  check('bucket', 'Check that the key can list the bucket.', async (probe) => {
    const { bucket, endpoint, region, prefix } = probe.target;
    try {
      const { keys } = await probe.list({ prefix });
      if (keys.some(({ key }) => !key.startsWith(prefix)))
        return fail('A listing by prefix contains keys without that prefix.', "Don't use this store.");
      if (keys.length > 0)
        return fail('There are already objects below the path of this run.', 'Run it again.');
      return `${bucket} at ${endpoint ?? 'AWS'} (${region}) can be listed.`;
    } catch (error) {
      const explained = explainStoreError(error, probe.target);
      if (explained instanceof CliError) return fail(explained.message, explained.hint);
      throw explained;
    }
  }),
  // Compared with the Date header of an answer, which has whole seconds.
  check('clock', 'Sync both by NTP: the store decides when a signed URL expires.', async (probe) => {
    const href = await probe.signDownload(probe.newKey());
    const sentMs = Date.now();
    const outcome = await probe.sendRaw({ method: 'GET', href });
    const receivedMs = Date.now();
    const date = outcome.kind === 'answer' ? Date.parse(outcome.headers.date ?? '') : Number.NaN;
    if (Number.isNaN(date)) return warning("The store sends no Date header, so its clock can't be compared.");
    const skewMs = Math.round(date + 500 - (sentMs + receivedMs) / 2);
    // Only what is certain: the date is cut to seconds, and the answer took its time.
    const leastMs = Math.abs(skewMs) - 500 - (receivedMs - sentMs) / 2;
    probe.facts.clockSkewMs = skewMs;
    const seconds = (Math.abs(skewMs) / 1000).toFixed(1);
    const found = `The store's clock is ${seconds} s ${skewMs < 0 ? 'behind' : 'ahead of'} this machine's`;
    if (leastMs > clockFailsMs) return fail(`${found}.`);
    const { clockSkewMs } = defaultSettings;
    if (leastMs <= clockSkewMs) return `${found}.`;
    return warning(`${found}, more than the ${clockSkewMs / 1000} s of protocol.clockSkewSeconds.`);
  }),
];

/** What the service does all day: uploads and downloads by its own signed URLs. */
export const uploadChecks: readonly Check[] = [
  check('upload', miscounted, async (probe) => {
    const { key, body, outcome } = await honestUpload(probe);
    if (!isAccepted(outcome))
      return fail(
        `The store rejected an upload with signed Content-Length and x-amz-checksum-sha256: ${explainOutcome(outcome)}`,
        "Check that the key can write to the bucket. If it can, don't use this store.",
      );
    const stored = await probe.head(key);
    if (stored?.sizeBytes === body.length)
      return `An upload by a signed URL works, and a HEAD returns its ${body.length} bytes.`;
    const told = stored === undefined ? 'finds nothing' : `returns ${stored.sizeBytes} bytes`;
    return fail(`The store accepted ${body.length} bytes, but a HEAD ${told}.`);
  }),
  check('checksum-kept', "Report it to the store's vendor.", async (probe) => {
    const { key, body } = await honestUpload(probe);
    const sha256 = (await probe.head(key))?.sha256;
    if (sha256 === undefined)
      return "The store doesn't keep the SHA-256 of an upload. lfs-quota doesn't need it.";
    if (sha256 === sha256Of(body)) return 'A HEAD returns the SHA-256 of the upload.';
    return warning("A HEAD returns a different SHA-256 than the upload's.");
  }),
  check('download', "Don't use this store.", async (probe) => {
    const { key, body } = await honestUpload(probe);
    const outcome = await probe.download(key);
    if (hasBody(outcome, body)) return 'A download by a signed URL returns the uploaded bytes.';
    if (isAccepted(outcome)) return fail('A download returns other bytes than the uploaded ones.');
    const found = `The store rejected a download by a signed URL: ${explainOutcome(outcome)}`;
    return fail(found, 'Check that the key can read objects.');
  }),
  check(
    'versioning',
    'Suspend versioning, or add a lifecycle rule that deletes noncurrent versions. This run leaves some below its prefix.',
    async (probe) => {
      const { outcome } = await honestUpload(probe);
      const version = outcome.kind === 'answer' ? outcome.headers['x-amz-version-id'] : undefined;
      if (version === undefined || version === 'null') return 'The bucket keeps no old versions.';
      return warning('The bucket is versioned: deleted objects stay, billed and unlisted.');
    },
  ),
  check('overwrite', miscounted, async (probe) => {
    const key = probe.newKey();
    const [first, second] = [randomBytes(1000), randomBytes(1500)];
    await probe.put(key, first);
    for (const [what, body] of [['the same bytes', first] as const, ['other bytes', second] as const]) {
      const outcome = await probe.upload(key, body);
      if (!isAccepted(outcome))
        return fail(
          `Uploading ${what} to an existing key is rejected: ${describeOutcome(outcome)}.`,
          'A repeated push would fail. Disable object lock or retention on this bucket.',
        );
      const bytes = (await probe.head(key))?.sizeBytes;
      if (bytes !== body.length)
        return fail(`After overwriting, a HEAD returns ${bytes ?? 'no'} bytes instead of ${body.length}.`);
    }
    return 'An object can be uploaded again, and overwritten.';
  }),
  check(
    'two-at-once',
    "Don't use this store: two users who push the same file would lose it.",
    async (probe) => {
      const key = probe.newKey();
      const body = randomBytes(50_000);
      const outcomes = await Promise.all([probe.upload(key, body), probe.upload(key, body)]);
      const stored = await probe.download(key);
      if (!hasBody(stored, body))
        return fail(
          `Two concurrent uploads of one object leave something else in the store (${describeOutcome(stored)}).`,
        );
      const refused = outcomes.filter((outcome) => !isAccepted(outcome)).map(describeOutcome);
      if (refused.length === 0)
        return 'Two concurrent uploads of one object both succeed, and the object is intact.';
      return warning(
        `Of two concurrent uploads of one object, the store rejected one: ${refused.join(', ')}.`,
        'You can use it, but if two users push the same file at once, one must push again.',
      );
    },
  ),
];

const hasBody = (outcome: RawOutcome, body: Buffer) => outcome.kind === 'answer' && outcome.body.equals(body);

/** An object that was uploaded as git-lfs would, once a run. */
function honestUpload(probe: Probe): Promise<{ key: string; body: Buffer; outcome: RawOutcome }> {
  return probe.once('honest upload', async () => {
    const key = probe.newKey();
    const body = randomBytes(4000);
    return { key, body, outcome: await probe.upload(key, body) };
  });
}

const exceeded = "Don't use this store: usage could exceed the limit unnoticed.";

/**
 * Uploads that must be refused, and store nothing: all of the accounting relies on it. Each breaks one promise of a
 * signed URL: a client could send it with the URL that it got, to store something that was not announced.
 */
export const refusalChecks: readonly Check[] = [
  lie('other-bytes', 'other bytes of the same length', {
    send: (probe, { signed, body }) => probe.sendBytes(signed, randomBytes(body.length)),
  }),
  lie('other-checksum', 'other bytes with their own checksum', {
    send: (probe, { signed, body }) => {
      const other = randomBytes(body.length);
      const checksum = Buffer.from(sha256Of(other), 'hex').toString('base64');
      return probe.sendBytes({ ...signed, header: { 'x-amz-checksum-sha256': checksum } }, other);
    },
  }),
  lie('no-checksum', 'other bytes without a checksum', {
    send: (probe, { signed, body }) => probe.sendBytes({ ...signed, header: {} }, randomBytes(body.length)),
  }),
  lie('fewer-bytes', 'fewer bytes', {
    send: (probe, { signed, body }) => probe.sendBytes(signed, body.subarray(1)),
  }),
  lie('more-bytes', 'more bytes', {
    send: (probe, { signed, body }) => probe.sendBytes(signed, Buffer.concat([body, randomBytes(1000)])),
  }),
  // Somebody who knows a large object's hash announces it as small. The checksum is right, the length is not.
  lie('wrong-length', 'bytes with the announced SHA-256, but more than announced', {
    send: async (probe, { key, body }) =>
      probe.sendBytes(await probe.signUpload({ key, oid: sha256Of(body), sizeBytes: 1 }), body),
  }),
  lie('no-length', 'a body without a length', {
    send: (probe, { signed: { href, header }, body }) => {
      const headers = { ...header, 'transfer-encoding': 'chunked' };
      return probe.sendRaw({ method: 'PUT', href, headers, body: Buffer.concat([body, body]) });
    },
  }),
  lie('cut-off', 'an upload that ends half-way', {
    isCut: true,
    send: (probe, { signed, body }) => probe.sendBytes(signed, body, { cutAfterBytes: body.length / 2 }),
  }),
  lie('other-key', 'an upload by a URL of another key', {
    send: async (probe, { signed, body }) => {
      const { href } = (await probe.announce({ body })).signed;
      // The announced key, with the signature for the other one.
      const moved = signed.href.replace(/\?.*/s, '') + href.slice(href.indexOf('?'));
      return await probe.sendBytes({ ...signed, href: moved }, body);
    },
  }),
  lie('late-upload', `an upload ${late}`, { lateMs: lateMsMax }),
  lie('just-late', 'an upload 3 s after its URL expired', {
    lateMs: 3000,
    ifStored: warning(
      'The store accepted an upload 3 s after its URL expired.',
      `Reservations cover it up to ${lateMsMax / 1000} s. The check late-upload tests later ones.`,
    ),
  }),
  // Some stores write in place: a refused upload must not damage the object that is there.
  check(
    'kept-object',
    "Don't use this store: a broken push would destroy a stored object.",
    async (probe) => {
      const { key, body, signed } = await probe.announceStored();
      const other = randomBytes(body.length);
      await probe.sendBytes(signed, other, { cutAfterBytes: 100 });
      await probe.sendBytes(signed, other);
      await systemClock.sleep(settleMs);
      const kept = await probe.download(key);
      if (hasBody(kept, body)) return "Rejected and interrupted uploads don't change the stored object.";
      return fail(`Rejected or interrupted uploads changed the stored object (${describeOutcome(kept)}).`);
    },
  ),
  check('other-method', exceeded, async (probe) => {
    const { key, signed } = await probe.announceStored();
    return tryMethods(probe, { key, url: signed.href, of: 'an upload', methods: ['GET', 'DELETE', 'POST'] });
  }),
  check('download-url', exceeded, async (probe) => {
    const { key } = await probe.announceStored();
    const url = await probe.signDownload(key);
    return tryMethods(probe, { key, url, of: 'a download', methods: ['PUT', 'DELETE', 'POST'] });
  }),
  check('late-download', "Don't use this store: its URLs never expire.", async (probe) => {
    const { key } = await probe.announceStored();
    const outcome = await probe.download(key, { lateMs: lateMsMax });
    const what = `a download ${late}`;
    return isAccepted(outcome) ? fail(`The store served ${what}.`) : judgeRefusal(what, outcome);
  }),
  // A header could turn an upload into a copy of something larger, or make it public.
  check('foreign-headers', exceeded, async (probe) => {
    const source = probe.newKey();
    await probe.put(source, randomBytes(5000));
    for (const [name, value] of [
      ['x-amz-copy-source', `/${probe.target.bucket}/${escapePath(source)}`],
      ['x-amz-meta-note', 'not signed'],
    ] as const) {
      const { key, body, signed } = await probe.announce();
      const header = { ...signed.header, [name]: value };
      const outcome = await probe.sendBytes({ ...signed, header }, body);
      const { sizeBytes = body.length } = (await probe.head(key)) ?? {};
      if (sizeBytes !== body.length)
        return fail(`With the unsigned header ${name}, an upload stored ${sizeBytes} other bytes.`);
      if (isAccepted(outcome))
        return warning(
          `The store accepts the unsigned header ${name}.`,
          'It stored the right bytes, but other headers might make an object public. Block public access for the bucket.',
        );
    }
    return 'Unsigned x-amz- headers are rejected.';
  }),
  // Something refused could have been stored a little later.
  check('nothing-left', exceeded, async (probe) => {
    const { refused } = probe;
    const found: string[] = [];
    for (const [key, what] of refused) {
      const { keys } = await probe.list({ prefix: key });
      if (keys.some((listed) => listed.key === key)) found.push(what);
    }
    if (found.length === 0) return `The listing has none of the ${refused.size} rejected uploads.`;
    return fail(`The store rejected this, and stored it later: ${found.join(', ')}.`);
  }),
];

interface Lie {
  /** Sends it. `announced` is signed for this lie alone. Omitted: exactly what was announced. */
  readonly send?: (probe: Probe, announced: Announced) => Promise<RawOutcome>;
  /** The store cannot answer, because the client is gone. */
  readonly isCut?: boolean;
  readonly lateMs?: number;
  /** Omitted: a failure. */
  readonly ifStored?: Finding;
}

/** The check that a lie is refused, and stores nothing. */
function lie(id: string, what: string, { send, isCut = false, lateMs, ifStored }: Lie): Check {
  return check(id, exceeded, async (probe) => {
    const announced = await probe.announce({ lateMs });
    const { key, signed, body } = announced;
    const outcome = await (send ? send(probe, announced) : probe.sendBytes(signed, body));
    if (isCut) await systemClock.sleep(settleMs);
    const stored = await probe.head(key);
    const found = `The store kept ${stored?.sizeBytes} bytes of ${what}, and returned`;
    if (stored !== undefined) return ifStored ?? fail(`${found} ${describeOutcome(outcome)}.`);
    probe.refused.set(key, what);
    return isCut ? `Nothing is stored of ${what}.` : judgeRefusal(what, outcome);
  });
}

/** Nothing was stored. Was that also said, in a way that a client does not try again? */
function judgeRefusal(what: string, outcome: RawOutcome): Finding {
  const answer = describeOutcome(outcome);
  if (isAccepted(outcome))
    return fail(
      `The store returned ${answer} for ${what}, but didn't do it.`,
      "Don't use this store: a client would think that its upload succeeded.",
    );
  // 501 is final: AWS answers it to a body without a length.
  if (outcome.kind === 'answer' && (outcome.status < 500 || outcome.status === 501))
    return `Rejected with ${answer}: ${what}.`;
  return warning(
    `The store rejected it, but with an error as if it were down: ${what} → ${answer}.`,
    'You can use it: clients retry such an upload.',
  );
}

/** By each of the methods, the URL must not be good for anything. */
async function tryMethods(
  probe: Probe,
  { key, url, of, methods }: { key: string; url: string; of: string; methods: readonly string[] },
): Promise<Finding> {
  const before = await probe.head(key);
  for (const method of methods) {
    const headers = { 'content-length': '1' };
    const outcome = await probe.sendRaw({ method, href: url, headers, body: Buffer.from('x') });
    const isChanged = (await probe.head(key))?.sizeBytes !== before?.sizeBytes;
    const effect = isChanged ? ', and the object is changed or gone' : '';
    if (isChanged || isAccepted(outcome))
      return fail(`The URL of ${of} works for ${method}: ${describeOutcome(outcome)}${effect}.`);
  }
  return `The URL of ${of} doesn't work for ${methods.join(', ')}.`;
}
