import { crowdedClaims } from '../../domain/tenant.ts';
import { formatBytes } from '../../rules/text.ts';
import type { Refusal } from '../../use-cases/uploads/refusal.ts';

/** Digits of an oid that tell it from all others of a repo. */
const oidPrefixDigits = 12;

/**
 * What a person reads when an object is over the limit. git-lfs prints it once or twice for each object, so the first
 * of a batch tells all, and the others refer to it.
 */
export function overLimitMessage(input: {
  tenant: string;
  oid: string;
  refusal: Refusal;
  nowMs: number;
}): string {
  const { tenant, oid, refusal } = input;
  const [first = oid] = refusal.oids;
  const whose = refusal.repo === null ? tenant : `the repo ${tenant}/${refusal.repo}`;
  if (oid !== first) return `over the storage limit of ${whose}, as told for ${prefixOf(first)}`;
  const { askedCount, limitBytes, missingBytes, oids } = refusal;
  return [
    `over the storage limit of ${whose}: ${takenUp(refusal)}, and the limit is ${exact(limitBytes)}.`,
    `${oids.length} of the ${askedCount} objects in this request ${oids.length === 1 ? 'is' : 'are'} refused:`,
    `${oids.length === 1 ? 'it needs' : 'together they need'} ${exact(missingBytes)} more than there is.`,
    ...waysOut(input),
    `Find the file of an object: git lfs ls-files -l | grep ${prefixOf(oid)}`,
  ].join(' ');
}

function takenUp({ storedBytes, reservedBytes }: Refusal): string {
  const stored = `${exact(storedBytes)} stored`;
  return reservedBytes === 0 ? stored : `${stored}, ${exact(reservedBytes)} promised to uploads under way`;
}

function waysOut(input: { tenant: string; refusal: Refusal; nowMs: number }): string[] {
  const { tenant, refusal, nowMs } = input;
  const { storedBytes, reservedUntilMs, isWaitingEnough } = refusal;
  const raise = storedBytes > 0 ? 'Delete what is no longer needed, or have' : 'Have';
  const anyway = `${raise} the limit raised, and push again.`;
  if (reservedUntilMs === null) return [anyway];
  const until = formatTime(reservedUntilMs, nowMs);
  const freed = `What those uploads (lfs-quota reservation list ${tenant}) do not bring by ${until} is free again then`;
  return isWaitingEnough
    ? [`${freed}, unless others take it: push again at that time, or have the limit raised.`]
    : [`${freed}, but that is not enough.`, anyway];
}

const manyClaims = crowdedClaims.toLocaleString('en-US');

/** What you read if you've claimed too much that never arrived. @param again when to ask again. */
export function lateMessage(input: {
  tenant: string;
  untilMs: number;
  nowMs: number;
  again: string;
}): string {
  const { tenant, untilMs, nowMs, again } = input;
  return [
    'You started uploads that never arrived. They still may, and are more than a tenth of the limit, or more than',
    `${manyClaims} objects, so other objects wait until ${formatTime(untilMs, nowMs)}. Push the same objects again,`,
    'unless they are that many, or ask the operator to cancel those uploads:',
    `lfs-quota reservation list ${tenant}.`,
    again,
  ].join(' ');
}

/** `20:06 UTC`, or with its date if that is another day. Rounded up to the minute, so that it is not too early. */
function formatTime(timeMs: number, nowMs: number): string {
  const [date = '', time = ''] = isoMinute(Math.ceil(timeMs / 60_000) * 60_000);
  const [today] = isoMinute(nowMs);
  return date === today ? `${time} UTC` : `${date} ${time} UTC`;
}

function isoMinute(timeMs: number): string[] {
  return new Date(timeMs).toISOString().slice(0, 16).split('T');
}

function exact(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  return `${formatBytes(bytes)} (${bytes} bytes)`;
}

function prefixOf(oid: string): string {
  return oid.slice(0, oidPrefixDigits);
}
