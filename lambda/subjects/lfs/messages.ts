import type { Refusal } from '../../core/ledger/rules/limits.ts';
import { dayOf } from '../../core/rules/dates.ts';
import { formatBytes } from '../../core/rules/sizes.ts';
import { plainText } from '../../core/rules/text.ts';
import { type HostUser, nameOfHostUser } from '../../frame/access/rules/host-user.ts';
import type { OverLimit } from '../../frame/access/seams.ts';

/**
 * What git prints: git-lfs shows the message of a response and nothing else. Each says what happened and what to do
 * next, in at most 300 characters. docs/git-users.md lists them.
 */

export const count = (number: number) => number.toLocaleString('en-US');
const files = (number: number) => `${count(number)} ${number === 1 ? 'file' : 'files'}`;

/** `20:06 UTC`, or with its date on another day. Rounded up to the minute, so it's never too early. */
function formatTime(timeMs: number, nowMs: number): string {
  const [date = '', time = ''] = isoMinute(Math.ceil(timeMs / 60_000) * 60_000);
  const [today] = isoMinute(nowMs);
  return date === today ? `${time} UTC` : `${date} ${time} UTC`;
}

function isoMinute(timeMs: number): string[] {
  return new Date(timeMs).toISOString().slice(0, 16).split('T');
}

/** @param seconds until a retry can succeed, 1 or more. */
function retryIn(seconds: number): string {
  return `Retry in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
}

/**
 * 507 for one file that doesn't fit. git-lfs prints it once or twice a file, so only the first of a batch has all of it.
 * @param input.consoleUrl where to see what is stored.
 */
export function storageLimitReached(input: {
  tenant: string;
  oid: string;
  refusal: Refusal;
  nowMs: number;
  consoleUrl: string;
}): string {
  const { tenant, oid, refusal } = input;
  if (oid !== refusal.oids[0]) return 'Storage limit reached (see above).';
  const { storedBytes, reservedBytes, limitBytes, askedCount, missingBytes, oids } = refusal;
  const whose = refusal.repo === null ? tenant : `${tenant}/${refusal.repo}`;
  const parts = `${formatBytes(storedBytes)} stored, ${formatBytes(reservedBytes)} uploading`;
  const used = `${formatBytes(storedBytes + reservedBytes)} of ${formatBytes(limitBytes)}`;
  return [
    `Storage limit reached: ${whose} uses ${used}${reservedBytes > 0 ? ` (${parts})` : ''}.`,
    `${count(oids.length)} of ${files(askedCount)} ${oids.length === 1 ? "doesn't" : "don't"} fit:`,
    `${formatBytes(missingBytes)} short.`,
    wayOut(input),
  ].join(' ');
}

function wayOut(input: { refusal: Refusal; nowMs: number; consoleUrl: string }): string {
  const { storedBytes, reservedUntilMs, isWaitingEnough } = input.refusal;
  if (reservedUntilMs !== null && isWaitingEnough) {
    const until = formatTime(reservedUntilMs, input.nowMs);
    return `If the other uploads don't finish by ${until}, their space is free again. Push again then, or ask your admin for a higher limit.`;
  }
  const ask = storedBytes > 0 ? 'Free up space or ask' : 'Ask';
  return `${ask} your admin for a higher limit, then push again: ${input.consoleUrl}.`;
}

/** 507 for a file that the disk of a server has no space for. @param input.freeBytes that nobody was promised. */
export const diskFull = ({ size, freeBytes }: { size: number; freeBytes: number }) =>
  `The server's disk is full: ${formatBytes(freeBytes)} free for uploads, this file has ${formatBytes(size)}. Ask its operator to free up space, then push again.`;

/** 429 for a token whose earlier uploads never arrived, and still count. @param input.filesMax from which they do. */
export function unfinishedUploads(input: {
  tenant: string;
  untilMs: number;
  nowMs: number;
  seconds: number;
  filesMax: number;
}): string {
  const { tenant, untilMs, nowMs, seconds, filesMax } = input;
  return [
    `Your earlier uploads didn't finish and still count: over 10% of the limit, or over ${count(filesMax)} files.`,
    `Push those files again, wait until ${formatTime(untilMs, nowMs)},`,
    `or ask your admin to cancel them: lfs-quota scan uploads ${tenant}.`,
    retryIn(seconds),
  ].join(' ');
}

/** 429 while a tenant's data is older than its files. @param input.untilMs its usage is counted then. */
export function restored(input: { tenant: string; untilMs: number; nowMs: number; seconds: number }): string {
  const { tenant, untilMs, nowMs, seconds } = input;
  const when = untilMs > nowMs ? `from ${formatTime(untilMs, nowMs)}` : 'after a scan';
  return `The server was restored from a backup. ${tenant} takes uploads again ${when}. Downloads work. ${retryIn(seconds)}`;
}

/** 429 while usage is listed again, for an upload close to the limit. */
export function usageCheck(seconds: number): string {
  return `Near the storage limit; checking usage. ${retryIn(seconds)}`;
}

type UsedDownloads = Omit<OverLimit, 'kind'>;

export const downloadsOf = ({ offeredBytes, limitBytes, askedBytes }: UsedDownloads) =>
  `used ${formatBytes(offeredBytes)} of ${formatBytes(limitBytes)}, this needs ${formatBytes(askedBytes)}.`;

/** 509 once a tenant's downloads of the month are used up. */
export function downloadLimitReached(input: UsedDownloads & { tenant: string }): string {
  const { tenant, resetsAtMs } = input;
  return (
    `Monthly download limit reached: ${tenant} ${downloadsOf(input)} It resets on ${dayOf(resetsAtMs)} (UTC). ` +
    'Ask your admin for a higher limit. Pushes still work.'
  );
}

/** 401 without a token. All git hosts are listed for every repo, so the response doesn't show what a repo is linked to. */
export function authenticationRequired(hosts: readonly string[]): string {
  const names = hosts.join(' or ');
  const theirs = hosts.length === 0 ? '' : ` For a repo on ${names}, your ${names} token works too.`;
  return `Authentication required: use any username and your access token as the password.${theirs}`;
}

/** 401 for an invalid token, 403 if it comes again and again. The same hosts, too. @param place `tenant repo`. */
export function tokenInvalid(hosts: readonly string[], place: string): string {
  const orHost =
    hosts.length === 0 ? '' : `, or its user has no access to this repo on ${hosts.join(' or ')}`;
  return (
    `Access token invalid, expired or revoked${orHost}. Store a new one: lfs-quota connect ${place}, or git credential approve. ` +
    'In CI, rerun the token exchange.'
  );
}

/** 403 for a token or user with read access. @param verb what they wanted, such as `push`. */
export function readOnly(hostUser: HostUser | undefined, verb: string): string {
  return hostUser
    ? `${nameOfHostUser(hostUser)} has read access there, so you can't ${verb} here. To ${verb}, get write access there.`
    : `This token is read-only. To ${verb}, use one with the write scope.`;
}

/** 503 while the git host that a token belongs to doesn't respond. */
export function hostUnavailable(host: string): string {
  return `Can't reach ${host} to check your token. Retry in a few seconds, or use an access token of this tenant.`;
}

/** 429 while the git host, or this service's share of it, is busy. */
export function hostLimited(host: string, seconds: number): string {
  return `${host} limits token checks. Retry in ${seconds} s, or use an access token of this tenant.`;
}

/** 404 for a tenant or repo that doesn't exist, is another tenant's, or has an impossible name. */
export const repoNotFound = "Repository not found, or your token can't access it. Check: git config lfs.url";

/** 404 for a push to a repo that must be created first. */
export function repoNotCreated(tenant: string, repo: string): string {
  return (
    `Repo ${tenant}/${repo} doesn't exist and pushes can't create it. Typo in lfs.url? ` +
    `Otherwise: lfs-quota repo create ${tenant} ${repo}`
  );
}

/** 404 for a repo that isn't there, if another one differs in upper and lower case alone. */
export function repoOfOtherCase({ tenant, repo, other }: { tenant: string; repo: string; other: string }) {
  return (
    `Repo ${tenant}/${repo} doesn't exist, but ${tenant}/${other} does. Fix lfs.url, ` +
    `or create it: lfs-quota repo create ${tenant} ${repo}`
  );
}

/** 422 for a push that would create a repo too many. */
export function tooManyRepos(tenant: string, reposMax: number): string {
  return `${tenant} has ${count(reposMax)} repos, the maximum. Push to an existing one, or delete some: each frees its slot after two days.`;
}

/** Ends what is said of one object, of which git-lfs shows the hash alone. It may be in an older commit, or another branch. */
export const fileOf = (oid: string) => `File: git lfs ls-files -al | grep ${oid.slice(0, 7)}`;

/** 404 for a download. */
export const objectNotFound = 'Object not found. Run git lfs push --all origin in a clone that has it.';

/** 410 for a download of what was deleted here. @param input.rule of a gc run: `DAYS/VERSIONS`. */
export function objectDeleted({ oid, atMs, rule }: { oid: string; atMs: number; rule?: string }): string {
  const day = new Date(atMs).toISOString().slice(0, 10);
  const [days, versions] = rule?.split('/') ?? [];
  const what =
    rule === undefined
      ? `Deleted on ${day} by an admin or gc.`
      : `Freed on ${day} (${days} days, ${versions} versions).`;
  return (
    `${what} To restore: git lfs push --object-id origin ${oid}, from a clone that has it. ` +
    'To go without: git -c lfs.skipdownloaderrors=true checkout COMMIT'
  );
}

/** 422 for a file that one PUT can't carry, from a client that sends no chunks. @param input.place `tenant repo`. */
export function chunksNeeded(input: { bytes: number; putBytesMax: number; place: string }): string {
  const { bytes, putBytesMax, place } = input;
  return `This file has ${formatBytes(bytes)}. Above ${formatBytes(putBytesMax)} you need lfs-quota's transfer agent. Run: lfs-quota connect ${place}, then push again.`;
}

/** 409 for a file of which an upload in chunks is in the way of another. */
export function uploadInTheWay({ ownUntilMs }: { ownUntilMs?: number }, nowMs: number): string {
  if (ownUntilMs === undefined)
    return 'Others are uploading this file already. Pull it once they finish, or push again in an hour.';
  return `Your earlier upload of this file ended, and its chunks still count. Push again after ${formatTime(ownUntilMs, nowMs)}.`;
}

/** 422 or 409: the stored size isn't the requested one. */
export function sizeMismatch(storedBytes: number, askedBytes: number): string {
  return `Size mismatch: ${storedBytes} bytes are stored, the request says ${askedBytes}. Check the pointer file.`;
}

/** 404 of verify. */
export const uploadMissing = "The upload isn't in the store. Push again.";

// What the function notFound says is apart from the rest, so that its bundle stays small.

/** A path as it was asked for, to be shown. */
const shownPath = (path: string) => plainText(path.length > 80 ? `${path.slice(0, 80)}…` : path);

/** 404 of a path that is none of the LFS API. @param repo `/tenant/repo`, if it shows. */
export const notAnEndpoint = (path: string, repo = '/acme/game') =>
  `Not an LFS endpoint: ${shownPath(path)}. Set lfs.url to a URL such as …${repo}/info/lfs`;

/** 404 for an `lfs.url` that is none. @param path its path. @param repo `/tenant/repo`, if it shows. */
export const lfsUrlWrong = (path: string, repo?: string) =>
  `lfs.url must end with a tenant, a repo and /info/lfs. Change it from …${shownPath(path)} to ` +
  (repo === undefined ? 'one such as …/acme/game/info/lfs' : `…${repo}/info/lfs`);

/** Errors of a client, not of its user. */
export const invalid = {
  json: "The body isn't valid JSON.",
  batch: (issue: string) => `Invalid batch request: ${issue}.`,
  verify: 'The body must be {"oid": SHA-256, "size": bytes}.',
  tooManyObjects: (asked: number, max: number) =>
    `${count(asked)} objects in one request. The maximum is ${count(max)}. In Git, run: git config lfs.transfer.batchSize ${max}`,
  operation: (quoted: string) => `Unknown operation ${quoted}: use "upload" or "download".`,
  hash: (quoted: string) => `Unknown hash algorithm ${quoted}: use sha256.`,
  transfers: 'Unknown transfer adapters: offer "basic".',
  noObjects: 'The request has no objects.',
  twoSizes: 'The request has this object twice, with different sizes.',
  oid: 'The oid must be a SHA-256: 64 lower-case hex digits.',
  size: 'The size must be a whole number of bytes, 0 or more.',
  tooLarge: (bytes: number, maxBytes: number) =>
    `File too large: ${formatBytes(bytes)}. The maximum is ${formatBytes(maxBytes)}.`,
  bodyTooLarge: (maxBytes: number) => `The body is larger than ${formatBytes(maxBytes)}. Send fewer objects.`,
  otherSite: "Pages of other sites can't use this API.",
  accept: (type: string) => `Responses are ${type}. Accept that media type.`,
} as const;
