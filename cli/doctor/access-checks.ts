import { defaultSettings } from '../../lambda/domain/settings.ts';
import { explainStoreError } from '../du/store-errors.ts';
import { CliError } from '../errors.ts';
import { type Check, type Finding, fail, pass, warn } from './check.ts';
import type { Probe } from './probe.ts';

/** Signed requests are refused by most stores from 15 minutes on, by some from 5. */
const clockFailsMs = 300_000;

/** Can the store be reached, with these credentials, and does it agree about the time? */
export const accessChecks: readonly Check[] = [
  { id: 'credentials', isEssential: true, run: findCredentials },
  { id: 'bucket', isEssential: true, run: listBucket },
  { id: 'clock', run: compareClocks },
];

async function findCredentials(probe: Probe): Promise<Finding> {
  try {
    const { accessKeyId, sessionToken } = await probe.client.config.credentials();
    const kind =
      sessionToken === undefined ? 'a long-lived key' : 'a session, whose end also ends its signed URLs';
    return pass(`Found the access key …${accessKeyId.slice(-4)}: ${kind}.`);
  } catch {
    return fail(
      'There are no credentials for the store.',
      'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or sign in with `aws sso login`.',
    );
  }
}

async function listBucket(probe: Probe): Promise<Finding> {
  const { bucket, endpoint, region, prefix } = probe.target;
  try {
    const { keys } = await probe.list({ prefix });
    if (keys.some(({ key }) => !key.startsWith(prefix))) {
      return fail(
        'A listing by prefix also has keys without that prefix.',
        'Do not use this store: usage would be counted wrong.',
      );
    }
    if (keys.length > 0)
      return fail(
        'There are already objects below the path of this run.',
        'Run it again: the path is random.',
      );
    return pass(`${bucket} at ${endpoint ?? 'AWS'} (${region}) can be listed.`);
  } catch (error) {
    const explained = explainStoreError(error, { bucket, endpoint, region });
    if (!(explained instanceof CliError)) throw explained;
    return fail(explained.message, explained.hint ?? 'Check --endpoint and --region.');
  }
}

/** Compares this machine's clock with the Date header of an answer, which has whole seconds. */
async function compareClocks(probe: Probe): Promise<Finding> {
  const { href } = await probe.signDownload(probe.newKey());
  const sentMs = Date.now();
  const outcome = await probe.sendRaw({ method: 'GET', href });
  const receivedMs = Date.now();
  const date = outcome.kind === 'answer' ? Date.parse(outcome.headers.date ?? '') : Number.NaN;
  if (Number.isNaN(date)) {
    return warn(
      'The answers of the store have no Date header, so its clock cannot be compared.',
      'Make sure that its clock is set by NTP: it decides when a signed URL expires.',
    );
  }
  const skewMs = Math.round(date + 500 - (sentMs + receivedMs) / 2);
  // Only what is certain: the date is cut to seconds, and the answer took its time.
  const uncertainMs = 500 + (receivedMs - sentMs) / 2;
  const leastMs = Math.max(0, Math.abs(skewMs) - uncertainMs);
  const facts = { clockSkewMs: skewMs };
  probe.clockSkewMs = skewMs;
  const seconds = (Math.abs(skewMs) / 1000).toFixed(1);
  const found = `The store's clock is ${seconds} s ${skewMs < 0 ? 'behind' : 'ahead of'} this machine's`;
  const advice = 'Set both clocks by NTP: the store decides by its own when a signed URL expires.';
  if (leastMs > clockFailsMs) return fail(`${found}.`, advice, facts);
  const { clockSkewMs } = defaultSettings;
  if (leastMs > clockSkewMs)
    return warn(
      `${found}, more than the ${clockSkewMs / 1000} s of protocol.clockSkewSeconds.`,
      advice,
      facts,
    );
  return pass(`${found}.`, facts);
}
