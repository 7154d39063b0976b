import {
  lfsCopiesContract,
  type WireCopy,
} from '../../../../lambda/subjects/downloads/lfs/copies-contract.ts';
import { isHref } from '../../../../lambda/subjects/downloads/rules/copies.ts';
import { transferEach } from '../../../at-once.ts';
import type { CliSubject } from '../../../command.ts';
import { CliError } from '../../../errors.ts';
import {
  askBatch,
  batchObjectsMax,
  type LfsObject,
  type LfsRepo,
  type OwnRepo,
  whyOf,
  wireObject,
} from '../../../lfs-batch.ts';
import { fullCodes, nothingYet, type Relay, type Relayed, relay } from '../../../move/relay.ts';
import type { DownloadDeps } from '../../../transfer.ts';
import { type Answer, untilAnswered } from '../../../until-answered.ts';

/**
 * Copies that our server makes itself, from URLs that another server signs: neither the bytes nor a login pass through it
 * from this machine. What can't go that way, this machine copies.
 */

/** What is queued at a time: soon enough for its URLs, and enough for all that copy. */
const groups = { atOnce: 4, objectsMax: batchObjectsMax, bytesMax: 4 * 1024 ** 3 };
const pollMs = 3_000;
/** With new URLs each time. */
const triesMax = 3;

/** Why the server can't, and this machine may. */
const ownReasons: Readonly<Record<string, string>> = {
  'address-not-public': "their server isn't on a public address",
  'name-not-found': "the server can't find theirs",
  'not-https': "their URLs aren't https",
  'upstream-length': 'their server announces no size, or another one',
};
const needHeaders = 'their URLs need headers or a login';

/** What a server says of a copy that failed, for a person. */
function textOf(reason: string): string {
  const [, side, status] = /^(upstream|store)-(\d+)$/.exec(reason) ?? [];
  if (reason === 'store-400') return 'the source sent other bytes than the pointer says';
  if (status) return `${side === 'store' ? 'the store' : 'the source'} returned ${status}`;
  const texts: Readonly<Record<string, string>> = {
    expired: 'its URL expired before its turn',
    'too-slow': 'the source is too slow',
  };
  return texts[reason] ?? 'the connection to the source failed';
}

/** @property to gets the URLs. */
type Servers = { readonly from: LfsRepo; readonly to: OwnRepo };

interface Copying extends Servers, Pick<Relay, 'onBytes'> {
  readonly relayed: Relayed;
  /** What this machine is to copy, and why. */
  readonly own: Map<LfsObject, string>;
}

/** As {@link relay}. */
function byService(servers: Servers): typeof relay {
  return async (deps, input) => {
    const { objects, onBytes, say } = input;
    const copying: Copying = { ...servers, relayed: nothingYet(), own: new Map(), onBytes };
    const { relayed, own } = copying;
    await transferEach(deps, {
      atOnce: groups.atOnce,
      itemsOf: async function* () {
        for (const group of groupsOf(objects)) if (relayed.full === undefined) yield group;
      },
      nameOf: () => 'The copies',
      transfer: (group, stop) => copyGroup({ ...deps, stop }, copying, group),
    });
    if (own.size === 0 || relayed.full !== undefined) return relayed;
    for (const why of new Set(own.values())) {
      const count = [...own.values()].filter((each) => each === why).length;
      say(
        `${count} of ${objects.length} objects can't go by the service: ${why}. This machine copies them.\n`,
      );
    }
    return relay(deps, { ...input, objects: [...own.keys()] }, relayed);
  };
}

function* groupsOf(objects: readonly LfsObject[]): Generator<LfsObject[]> {
  let [group, bytes]: [LfsObject[], number] = [[], 0];
  for (const object of objects) {
    if (group.length === groups.objectsMax || bytes >= groups.bytesMax) {
      yield group;
      [group, bytes] = [[], 0];
    }
    group.push(object);
    bytes += object.sizeBytes;
  }
  if (group.length > 0) yield group;
}

/**
 * Has a group copied, what failed again with new URLs, until nothing of it is left. What is there already, or what somebody
 * copies, isn't asked for.
 */
async function copyGroup(deps: DownloadDeps, copying: Copying, objects: readonly LfsObject[]): Promise<void> {
  const { to, relayed, own, onBytes } = copying;
  let [asked, links]: [typeof objects, ReadonlyMap<string, CopyLink>] = [objects, new Map()];
  for (let tries = 0; asked.length > 0 && relayed.full === undefined; tries += 1) {
    const states = await untilSettled(deps, to, { objects: asked, links });
    const left: LfsObject[] = [];
    for (const object of asked) {
      const { state, reason = 'expired', error } = states.get(object.oid) ?? {};
      // What it said before it was asked is of another run.
      const why = tries === 0 ? undefined : reasonToCopy(reason);
      if (state === 'stored') {
        relayed[tries === 0 ? 'present' : 'copied'].push(object);
        onBytes(object.sizeBytes);
      } else if (error && fullCodes.has(error.code)) relayed.full ??= error.message;
      else if (error) own.set(object, error.message);
      else if (why) own.set(object, why);
      else if (tries < triesMax) left.push(object);
      else noteFailed(copying, object, textOf(reason));
    }
    links = await linksOf(deps, copying, left);
    asked = left.filter(({ oid }) => links.has(oid));
  }
}

/** Asks again until none of them is being copied. */
async function untilSettled(
  deps: DownloadDeps,
  to: OwnRepo,
  asked: { objects: readonly LfsObject[]; links: ReadonlyMap<string, CopyLink> },
): Promise<Awaited<ReturnType<typeof askCopies>>> {
  let states = await askCopies(deps, to, asked);
  for (;;) {
    const objects = asked.objects.filter(({ oid }) => states.get(oid)?.state === 'queued');
    if (objects.length === 0) return states;
    await deps.sleep(pollMs);
    deps.stop.throwIfAborted();
    states = new Map([...states, ...(await askCopies(deps, to, { objects }))]);
  }
}

/** Where an object is downloaded without headers. */
interface CopyLink {
  readonly href: string;
  readonly expires_in?: number | undefined;
}

/**
 * Has a server of ours copy up to 100 objects. Those without a link are only asked about.
 *
 * @returns oid → state or error. @throws {CliError}
 */
async function askCopies(
  deps: DownloadDeps,
  repo: OwnRepo,
  { objects, links }: { objects: readonly LfsObject[]; links?: ReadonlyMap<string, CopyLink> },
): Promise<ReadonlyMap<string, WireCopy>> {
  const asked = objects.map((object) => ({ ...wireObject(object), ...links?.get(object.oid) }));
  const refusal = (answer: Answer) =>
    answer.status === 501
      ? new CliError(`The server can't do this${whyOf(answer.body)}`, {
          failure: 'refused',
          hint: 'Leave out --via service: then your machine copies.',
        })
      : repo.refusal('upload', answer);
  const answer = await untilAnswered(deps, () => repo.post('copies', { objects: asked }), refusal);
  const parsed = copiesShape.safeParse(answer.body);
  if (answer.status !== 200 || !parsed.success) throw refusal(answer);
  return new Map(parsed.data.objects.map((object) => [object.oid, object]));
}

const copiesShape = lfsCopiesContract['POST /{tenant}/{repo}/info/lfs/objects/copies'].answers[200].schema;

/** oid → where it is downloaded, without a login. Of what isn't, it's noted what becomes of it. */
async function linksOf(
  deps: DownloadDeps,
  copying: Copying,
  objects: readonly LfsObject[],
): Promise<ReadonlyMap<string, CopyLink>> {
  const links = new Map<string, CopyLink>();
  if (objects.length === 0) return links;
  const answers = await askBatch(deps, copying.from, { operation: 'download', objects });
  for (const object of objects) {
    const { actions, error } = (answers === 'absent' ? undefined : answers.get(object.oid)) ?? {};
    const { href = '', header = {}, expires_in } = actions?.download ?? {};
    if (!actions?.download) {
      if (!error || error.code === 404 || error.code === 410) copying.relayed.absent.push(object);
      else noteFailed(copying, object, `the source: ${error.message} (${error.code})`);
    } else if (Object.keys(header).length > 0 || !isHref(href)) copying.own.set(object, needHeaders);
    else links.set(object.oid, { href, expires_in });
  }
  return links;
}

const reasonToCopy = (reason: string) =>
  ownReasons[reason] ?? (/^upstream-3/.test(reason) ? 'their server redirects' : undefined);

function noteFailed({ relayed, onBytes }: Copying, object: LfsObject, message: string): void {
  relayed.failed.push({ object, message });
  onBytes(object.sizeBytes);
}

export const copies: CliSubject = { byService, examples: {} };
