import { randomBytes } from 'node:crypto';
import { escapePath } from '../../lambda/adapters/s3/sigv4.ts';
import { systemClock } from '../../lambda/adapters/system/clock.ts';
import { type Check, type Finding, fail, pass, warn } from './check.ts';
import { type Announced, type Lie, lateMsMax, lies } from './lies.ts';
import { settleMs } from './limits.ts';
import { type Probe, sha256Of } from './probe.ts';
import type { KnownFacts } from './profile.ts';
import { describeOutcome, isAccepted, type RawOutcome } from './raw-request.ts';

/** Uploads that must be refused, and store nothing. All of the accounting relies on it. */
export const refusalChecks: readonly Check[] = [
  ...lies.map((lie) => ({ id: lie.id, run: (probe: Probe) => tryLie(probe, lie) })),
  { id: 'just-late', run: uploadJustLate },
  { id: 'kept-object', run: lieAboutStored },
  { id: 'other-method', run: useOtherMethods },
  { id: 'download-url', run: writeByDownloadUrl },
  { id: 'late-download', run: downloadLate },
  { id: 'foreign-headers', run: addHeaders },
  { id: 'nothing-left', run: lookForRefused },
];

const advice = 'Do not use this store: usage could exceed what was admitted, without anybody noticing.';

/** Keys of uploads that must not have been stored, and what was uploaded. */
const refusedKeys = (probe: Probe) => probe.once('refused keys', async () => new Map<string, string>());

async function announce(probe: Probe): Promise<Announced> {
  const key = probe.newKey();
  const body = randomBytes(2000);
  probe.written.add(key);
  const signed = await probe.signUpload({ key, oid: sha256Of(body), sizeBytes: body.length });
  return { key, body, signed };
}

/** What the profile says about the promise that a lie breaks. */
function factsOf({ id }: Lie, isEnforced: boolean): KnownFacts {
  if (id === 'other-bytes') return { checksumEnforced: isEnforced };
  if (id === 'wrong-length') return { lengthEnforced: isEnforced };
  return {};
}

async function tryLie(probe: Probe, lie: Lie): Promise<Finding> {
  const announced = await announce(probe);
  const outcome = await lie.send(probe, announced);
  if (lie.isCut === true) await systemClock.sleep(settleMs);
  const stored = await probe.head(announced.key);
  const answer = describeOutcome(outcome);
  if (stored !== undefined) {
    const size = `${stored.sizeBytes} bytes`;
    return fail(
      `The store kept ${size} of ${lie.what}, and answered ${answer}.`,
      advice,
      factsOf(lie, false),
    );
  }
  (await refusedKeys(probe)).set(announced.key, lie.what);
  if (lie.isCut === true) return pass(`Nothing is stored of ${lie.what}.`);
  return judgeRefusal(lie.what, outcome, factsOf(lie, true));
}

/** Nothing was stored. Was that also said, in a way that a client does not try again? */
function judgeRefusal(what: string, outcome: RawOutcome, facts: KnownFacts = {}): Finding {
  const answer = describeOutcome(outcome);
  if (isAccepted(outcome)) {
    return fail(
      `The store answered ${answer} to ${what}, and did not do it.`,
      'Do not use this store: a client would believe that its upload arrived.',
    );
  }
  // 501 is final: AWS answers it to a body without a length.
  if (outcome.kind === 'cut' || (outcome.status >= 500 && outcome.status !== 501)) {
    return warn(
      `The store did not do this, but answered as if it were down: ${what} → ${answer}.`,
      'Nothing is stored, so it can be used. A client repeats such an upload before it gives up.',
      facts,
    );
  }
  return pass(`Refused with ${answer}: ${what}.`, facts);
}

async function uploadJustLate(probe: Probe): Promise<Finding> {
  const { key, body } = await announce(probe);
  const signedAtMs = Date.now() + probe.clockSkewMs - 4000;
  const input = { key, oid: sha256Of(body), sizeBytes: body.length, signedAtMs, lifetimeMs: 1000 };
  const { href, header } = await probe.signUpload(input);
  const headers = { ...header, 'content-length': `${body.length}` };
  const outcome = await probe.sendRaw({ method: 'PUT', href, headers, body });
  if ((await probe.head(key)) !== undefined) {
    return warn(
      'The store accepted an upload 3 s after its URL expired.',
      `Reservations cover it up to ${lateMsMax / 1000} s; later ones are the check late-upload. Set the store's clock by NTP.`,
    );
  }
  (await refusedKeys(probe)).set(key, 'an upload just after its URL expired');
  return judgeRefusal('an upload 3 s after its URL expired', outcome);
}

/** Some stores write in place: a refused upload must not damage the object that is there. */
async function lieAboutStored(probe: Probe): Promise<Finding> {
  const { key, body, signed } = await announce(probe);
  await probe.put(key, body);
  const headers = { ...signed.header, 'content-length': `${body.length}` };
  const other = randomBytes(body.length);
  await probe.sendRaw({ method: 'PUT', href: signed.href, headers, body: other, cutAfterBytes: 100 });
  await probe.sendRaw({ method: 'PUT', href: signed.href, headers, body: other });
  await systemClock.sleep(settleMs);
  const { href } = await probe.signDownload(key);
  const kept = await probe.sendRaw({ method: 'GET', href });
  if (kept.kind !== 'answer' || !kept.body.equals(body)) {
    return fail(
      `Uploads that were refused or cut off have changed the object that was there (${describeOutcome(kept)}).`,
      'Do not use this store: a broken push would destroy what is stored.',
    );
  }
  return pass('Refused and cut-off uploads leave the object that is there as it was.');
}

async function useOtherMethods(probe: Probe): Promise<Finding> {
  const { key, body, signed } = await announce(probe);
  await probe.put(key, body);
  return await tryMethods(probe, {
    key,
    href: signed.href,
    methods: ['GET', 'DELETE', 'POST'],
    of: 'an upload',
  });
}

async function writeByDownloadUrl(probe: Probe): Promise<Finding> {
  const { key, body } = await announce(probe);
  await probe.put(key, body);
  const { href } = await probe.signDownload(key);
  return await tryMethods(probe, { key, href, methods: ['PUT', 'DELETE', 'POST'], of: 'a download' });
}

async function tryMethods(
  probe: Probe,
  { key, href, methods, of }: { key: string; href: string; methods: readonly string[]; of: string },
): Promise<Finding> {
  const before = await probe.head(key);
  for (const method of methods) {
    const body = Buffer.from('x');
    const headers = { 'content-length': `${body.length}` };
    const outcome = await probe.sendRaw({ method, href, headers, body });
    const after = await probe.head(key);
    const isChanged = after?.sizeBytes !== before?.sizeBytes;
    if (isChanged || isAccepted(outcome)) {
      const effect = isChanged ? ', and the object is changed or gone' : '';
      return fail(`The URL of ${of} is good for ${method}: ${describeOutcome(outcome)}${effect}.`, advice);
    }
  }
  return pass(`The URL of ${of} is not good for ${methods.join(', ')}.`);
}

async function downloadLate(probe: Probe): Promise<Finding> {
  const { key, body } = await announce(probe);
  await probe.put(key, body);
  const signedAtMs = Date.now() + probe.clockSkewMs - lateMsMax - 1000;
  const { href } = await probe.signDownload(key, { signedAtMs, lifetimeMs: 1000 });
  const outcome = await probe.sendRaw({ method: 'GET', href });
  const what = `a download ${lateMsMax / 1000} s after its URL expired`;
  if (!isAccepted(outcome)) return judgeRefusal(what, outcome);
  return fail(
    `The store served ${what}.`,
    'Do not use this store: whoever once had a URL can read for ever.',
  );
}

/** A header could turn an upload into a copy of something larger, or make it public. */
async function addHeaders(probe: Probe): Promise<Finding> {
  const source = probe.newKey();
  await probe.put(source, randomBytes(5000));
  for (const [name, value] of [
    ['x-amz-copy-source', `/${probe.target.bucket}/${escapePath(source)}`],
    ['x-amz-meta-note', 'not signed'],
  ] as const) {
    const { key, body, signed } = await announce(probe);
    const headers = { ...signed.header, 'content-length': `${body.length}`, [name]: value };
    const outcome = await probe.sendRaw({ method: 'PUT', href: signed.href, headers, body });
    const stored = await probe.head(key);
    if (stored !== undefined && stored.sizeBytes !== body.length)
      return fail(`By the unsigned header ${name} an upload stored ${stored.sizeBytes} other bytes.`, advice);
    if (isAccepted(outcome)) {
      return warn(
        `The store accepts the header ${name}, which was not signed.`,
        'It stored the right bytes, so it can be used. But other headers may make an object public: forbid that for the bucket.',
      );
    }
  }
  return pass('Headers that begin with x-amz- and were not signed are refused.');
}

/** Something refused could have been stored a little later. */
async function lookForRefused(probe: Probe): Promise<Finding> {
  const refused = await refusedKeys(probe);
  const found: string[] = [];
  for (const [key, what] of refused) {
    const { keys } = await probe.list({ prefix: key });
    if (keys.some((listed) => listed.key === key)) found.push(what);
  }
  if (found.length > 0)
    return fail(`The store refused this, and stored it later: ${found.join(', ')}.`, advice);
  return pass(`The listing has none of the ${refused.size} uploads that were refused.`);
}
