import { sha256Hex } from '../../../../lambda/core/rules/hash.ts';
import type { MultipartUpload } from '../../../../lambda/core/store/rules/archive-store.ts';
import { fromStored } from '../../../../lambda/core/table/stored-names.ts';
import type { Item } from '../../../../local/table/expression.ts';
import type { Change } from '../../../../local/table/items.ts';
import { noteEnded } from '../../chunked-claims.ts';
import { Violation } from '../../invariants.ts';
import type { World } from '../../world.ts';

interface Held {
  readonly tenant: string;
  readonly uploading: { readonly name: string; readonly sizeBytes: number };
}

/**
 * What must hold for chunked uploads, beside what holds for every tenant:
 *
 * - The bytes of an object that was assembled have its oid.
 * - As long as an upload is open, all of its object may still arrive: it is claimed.
 * - The claim of an upload is released only when no chunk of it is stored, nor can arrive, or the object is stored.
 */
export class ChunkWatch {
  readonly #world: World;
  /** Uploads of which a client has learned, by their ids and oids. */
  readonly #held = new Map<string, Held>();
  /** By the folder of its chunks: how many PUTs are under way, and until when URLs can be used. */
  readonly #puts = new Map<string, { underWay: number; urlsUntilMs: number }>();
  /** When uploads of several parts were created. */
  readonly #createdAtMs = new Map<string, number>();
  readonly counts = {
    uploads: 0,
    resumed: 0,
    proofs: 0,
    made: 0,
    wrong: 0,
    ended: 0,
    removed: 0,
    pairs: 0,
    takeovers: 0,
    endedByName: 0,
    unserved: 0,
  };
  /** Since when tokens are revoked, and uploads cancelled, by their ids. */
  readonly #revokedMs = new Map<string, number>();
  readonly #cancelledMs = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
    world.table.store.watch((change) => {
      try {
        this.#note(change);
      } catch (error) {
        world.fail(error);
      }
    });
    world.onCreated = ({ uploadId }) => void this.#createdAtMs.set(uploadId, world.scheduler.nowMs);
    world.onMade = (upload) => this.#noteMade(upload);
  }

  /** A client has got an answer that names its upload: from now on its object may arrive. */
  hold(path: { tenant: string; repo: string; oid: string; upload: string }, sizeBytes: number): void {
    const { tenant, repo, oid, upload } = path;
    const item = this.#world.table.store.find({ pk: `UPLOAD#${tenant}#${repo}#${oid}`, sk: upload });
    const id = `${upload}/${oid}`;
    if (item === undefined || !isAtWork(fromStored(item)) || this.#held.has(id)) return;
    const uploading = { name: `${repo}/${oid}`, sizeBytes };
    this.#held.set(id, { tenant, uploading });
    this.#world.account(tenant).truth.beginUpload(uploading);
  }

  noteRevoked(tokenId: string): void {
    this.#revokedMs.set(tokenId, this.#world.scheduler.nowMs);
  }

  isRevoked(tokenId: string | undefined, atMs: number): boolean {
    return atMs > (this.#revokedMs.get(tokenId ?? '') ?? Number.POSITIVE_INFINITY);
  }

  noteCancelled(upload: string): void {
    this.counts.endedByName += 1;
    this.#cancelledMs.set(upload, this.#world.scheduler.nowMs);
  }

  /** @param served.state undefined: as if there were no such upload. */
  checkServed(
    { upload }: { upload: string },
    served: { tokenId: string | undefined; beganMs: number; state: string | undefined },
  ): void {
    const { tokenId, beganMs, state } = served;
    if (state === undefined) {
      if (this.isRevoked(tokenId, beganMs)) this.counts.unserved += 1;
      return;
    }
    if (this.isRevoked(tokenId, beganMs)) throw new Violation('Chunks: an upload goes on after its token');
    const cancelledMs = this.#cancelledMs.get(upload) ?? Number.POSITIVE_INFINITY;
    if (state === 'open' && beganMs > cancelledMs)
      throw new Violation('Chunks: an upload that was cancelled is open');
  }

  noteUrl(folder: string, expiresAtMs: number): void {
    const puts = this.#putsOf(folder);
    puts.urlsUntilMs = Math.max(puts.urlsUntilMs, expiresAtMs);
  }

  beginPut(folder: string): void {
    this.#putsOf(folder).underWay += 1;
  }

  endPut(folder: string): void {
    this.#putsOf(folder).underWay -= 1;
  }

  #putsOf(folder: string) {
    const puts = this.#puts.get(folder) ?? { underWay: 0, urlsUntilMs: 0 };
    this.#puts.set(folder, puts);
    return puts;
  }

  #note({ key: { pk, sk }, before, after }: Change): void {
    const [kind, , , oid] = pk.split('#');
    if (kind === 'UPLOAD' && oid === undefined) {
      if (after?.['etag'] !== undefined || (after && !sk.startsWith('#'))) this.counts.proofs += 1;
    } else if (kind === 'UPLOAD') {
      const now = after && fromStored(after);
      if (before === undefined && after !== undefined) this.counts.uploads += 1;
      const was = before && fromStored(before);
      if (areAssembling(was, now) && was?.['stateAtMs'] !== now?.['stateAtMs']) this.counts.takeovers += 1;
      if (now?.['state'] !== (before && fromStored(before)['state'])) this.#noteState(now?.['state']);
      if (now === undefined || !isAtWork(now)) this.#release(`${sk}/${oid}`);
    } else if (sk.startsWith('RESERVATION#') && before !== undefined)
      this.#noteReservation({ pk, was: fromStored(before), is: after && fromStored(after) });
  }

  #noteReservation(change: Parameters<typeof noteEnded>[1]): void {
    for (const key of noteEnded(this.#world, change)) {
      const [tenant = '', repo = '', oid = ''] = key.split('/');
      this.#checkReleased({ tenant, repo, oid, was: change.was });
    }
  }

  #noteState(state: unknown): void {
    if (state === 'wrong' || state === 'ended') this.counts[state] += 1;
    if (state === undefined) this.counts.removed += 1;
  }

  #release(id: string): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    this.#held.delete(id);
    this.#world.account(held.tenant).truth.endUpload(held.uploading);
  }

  #checkReleased(input: { tenant: string; repo: string; oid: string; was: Item }): void {
    const { tenant, repo, oid, was } = input;
    const { truth } = this.#world.account(tenant);
    if (truth.stored.has(`${repo}/${oid}`)) return;
    const folder = `_parts/${tenant}/${repo}/${oid}/${String(was['reservationId'])}/`;
    const { underWay, urlsUntilMs } = this.#putsOf(folder);
    const stored = this.chunksBelow(folder);
    const isUsable = urlsUntilMs >= this.#world.scheduler.nowMs;
    if (stored + underWay > 0 || isUsable)
      throw new Violation(
        `Chunks: a claim is released, and ${stored} of its chunks are stored, ${underWay} on their way${isUsable ? ', and URLs can be used' : ''}`,
      );
  }

  chunksBelow(prefix: string): number {
    return this.#world.store.keysBelow(prefix).length;
  }

  async #noteMade({ key, uploadId }: MultipartUpload): Promise<void> {
    const { archives, scheduler } = this.#world;
    const bytes = await archives.get(key);
    const [tenant = '', repo = '', oid = ''] = key.split('/');
    if (bytes === undefined) throw new Error('What was made is not there.');
    if (sha256Hex(bytes) !== oid)
      throw new Violation(`Chunks: ${repo}/${oid.slice(0, 8)} has other bytes than its oid`);
    this.counts.made += 1;
    const beganMs = this.#createdAtMs.get(uploadId) ?? scheduler.nowMs;
    this.#world.land({ tenant, repo, oid, sizeBytes: bytes.length, beganMs });
  }
}

const areAssembling = (...items: readonly (Item | undefined)[]) =>
  items.every((item) => item?.['state'] === 'assembling');

function isAtWork({ state }: Item): boolean {
  return state === 'open' || state === 'assembling';
}
