import { isHref } from '../../lambda/downloads/rules/copies.ts';
import type { DownloadDeps } from '../export/transfer.ts';
import {
  askBatch,
  askCopies,
  type BatchAnswer,
  type CopyLink,
  type LfsObject,
  type LfsRepo,
  type OwnRepo,
} from '../lfs-batch.ts';
import { printable } from '../terminal.ts';
import { bytesOf } from './objects.ts';
import { batchObjectsMax, fullCodes, type Relay, type Relayed, relay, repoSource } from './relay.ts';

/**
 * Copies that our server makes itself, from URLs that another server signs: neither the bytes nor a login pass through it
 * from this machine. What can't go that way, this machine copies.
 */

/** What is queued at a time: soon enough for its URLs, and enough for all that copy. */
const queued = { objectsMax: 400, bytesMax: 16 * 1024 ** 3 };
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

interface Servers {
  readonly from: LfsRepo;
  /** It gets the URLs. */
  readonly to: OwnRepo;
}

/** As {@link relay}. @param say tells a person at once. */
export function byService(servers: Servers, say: (text: string) => void): typeof relay {
  return async (deps, input) => {
    const copies = new ServiceCopies(deps, { ...servers, objects: input.objects, onBytes: input.onBytes });
    await copies.run();
    const { relayed, own } = copies;
    if (own.size === 0 || relayed.full !== undefined) return relayed;
    for (const why of new Set(own.values())) {
      const count = [...own.values()].filter((each) => each === why).length;
      say(
        `${count} of ${input.objects.length} objects can't go by the service: ${why}. This machine copies them.\n`,
      );
    }
    const moved = await relay(deps, { ...input, from: repoSource(servers.from), objects: [...own.keys()] });
    return {
      copied: [...relayed.copied, ...moved.copied],
      present: [...relayed.present, ...moved.present],
      absent: [...relayed.absent, ...moved.absent],
      failed: [...relayed.failed, ...moved.failed],
      full: moved.full,
    };
  };
}

class ServiceCopies {
  readonly relayed: Relayed = { copied: [], present: [], absent: [], failed: [], full: undefined };
  /** What this machine is to copy, and why. */
  readonly own = new Map<LfsObject, string>();
  readonly #deps: DownloadDeps;
  readonly #input: Servers & Pick<Relay, 'onBytes'>;
  readonly #next: LfsObject[];
  readonly #pending = new Map<string, LfsObject>();
  readonly #tries = new Map<string, number>();

  constructor(deps: DownloadDeps, input: Servers & Pick<Relay, 'objects' | 'onBytes'>) {
    this.#deps = deps;
    this.#input = input;
    this.#next = [...input.objects];
  }

  /** @throws {CliError} when a server refuses, or doesn't respond any more. */
  async run(): Promise<void> {
    for (;;) {
      while (this.#hasRoom()) await this.#begin(this.#take());
      if (this.#pending.size === 0) return;
      await this.#deps.sleep(pollMs);
      this.#deps.stop.throwIfAborted();
      await this.#poll();
    }
  }

  #hasRoom(): boolean {
    const { objectsMax, bytesMax } = queued;
    if (this.relayed.full !== undefined || this.#next.length === 0) return false;
    const isFull =
      this.#pending.size > objectsMax - batchObjectsMax || bytesOf([...this.#pending.values()]) >= bytesMax;
    return !isFull;
  }

  #take(): LfsObject[] {
    const taken: LfsObject[] = [];
    let bytes = bytesOf([...this.#pending.values()]);
    while (taken.length < batchObjectsMax && (taken.length === 0 || bytes < queued.bytesMax)) {
      const object = this.#next.shift();
      if (!object) break;
      taken.push(object);
      bytes += object.sizeBytes;
    }
    return taken;
  }

  /** Has some copied that aren't there, and that nobody copies. */
  async #begin(objects: readonly LfsObject[]): Promise<void> {
    const { from, to } = this.#input;
    const states = await askCopies(this.#deps, to, { objects });
    const wanted: LfsObject[] = [];
    for (const object of objects) {
      const { state } = states.get(object.oid) ?? {};
      if (state === 'stored') this.#arrived(object, this.#tries.has(object.oid) ? 'copied' : 'present');
      else if (state === 'queued') this.#pending.set(object.oid, object);
      else wanted.push(object);
    }
    if (wanted.length === 0) return;
    const answers = await askBatch(this.#deps, from, { operation: 'download', objects: wanted });
    const linked = new Map(
      wanted.flatMap((object) => {
        const link = this.#linkOf(object, answers === 'absent' ? undefined : answers.get(object.oid));
        return link ? [[object.oid, link] as const] : [];
      }),
    );
    const offered = wanted.filter(({ oid }) => linked.has(oid));
    if (offered.length === 0) return;
    this.#note(offered, await askCopies(this.#deps, to, { objects: offered, links: linked }));
  }

  /** Where an object is downloaded, without a login. If it isn't, what becomes of it is noted. */
  #linkOf(object: LfsObject, { actions, error }: BatchAnswer = { oid: object.oid }): CopyLink | undefined {
    const { download } = actions ?? {};
    if (!download) {
      if (!error || error.code === 404 || error.code === 410) this.relayed.absent.push(object);
      else this.#failed(object, `the source: ${printable(error.message)} (${error.code})`);
      return undefined;
    }
    const { href, header, expires_in } = download;
    if (Object.keys(header).length > 0 || !isHref(href)) {
      this.own.set(object, needHeaders);
      return undefined;
    }
    return { href, expires_in };
  }

  #note(objects: readonly LfsObject[], states: Awaited<ReturnType<typeof askCopies>>): void {
    for (const object of objects) {
      const { state, error } = states.get(object.oid) ?? {};
      if (state === 'stored') this.#arrived(object, 'copied');
      else if (error && fullCodes.has(error.code)) this.relayed.full ??= printable(error.message);
      else if (error) this.own.set(object, printable(error.message));
      else {
        this.#tries.set(object.oid, 1 + (this.#tries.get(object.oid) ?? 0));
        this.#pending.set(object.oid, object);
      }
    }
  }

  async #poll(): Promise<void> {
    const pending = [...this.#pending.values()];
    for (let at = 0; at < pending.length; at += batchObjectsMax) {
      const some = pending.slice(at, at + batchObjectsMax);
      const states = await askCopies(this.#deps, this.#input.to, { objects: some });
      for (const object of some) {
        const { state, reason = 'expired' } = states.get(object.oid) ?? {};
        if (state === 'queued') continue;
        this.#pending.delete(object.oid);
        if (state === 'stored') this.#arrived(object, 'copied');
        else this.#broke(object, reason);
      }
    }
  }

  #broke(object: LfsObject, reason: string): void {
    const why = ownReasons[reason] ?? (/^upstream-3/.test(reason) ? 'their server redirects' : undefined);
    if (why) this.own.set(object, why);
    else if ((this.#tries.get(object.oid) ?? 0) < triesMax) this.#next.push(object);
    else this.#failed(object, textOf(reason));
  }

  #arrived(object: LfsObject, as: 'copied' | 'present'): void {
    this.relayed[as].push(object);
    this.#input.onBytes(object.sizeBytes);
  }

  #failed(object: LfsObject, message: string): void {
    this.relayed.failed.push({ object, message });
    this.#input.onBytes(object.sizeBytes);
  }
}
