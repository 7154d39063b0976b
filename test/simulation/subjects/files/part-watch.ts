import type { MultipartUpload } from '../../../../lambda/core/store/rules/archive-store.ts';
import { fromStored } from '../../../../lambda/core/table/stored-names.ts';
import { noteEnded } from '../../chunked-claims.ts';
import { Violation } from '../../invariants.ts';
import type { Truth } from '../../truth.ts';
import type { World } from '../../world.ts';

interface Held {
  readonly truth: Truth;
  readonly uploading: { readonly name: string; readonly sizeBytes: number };
}

/**
 * What must hold for files in parts, beside what holds for every tenant:
 *
 * - As long as the store has an upload of which a client knows, its file may still arrive: it is claimed.
 * - The claim of an upload is released only when the store has it no more.
 */
export class PartWatch {
  readonly #world: World;
  /** Uploads of which a client has learned, by the store's ids. */
  readonly #held = new Map<string, Held>();
  readonly #createdAtMs = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
    world.onCreated = ({ uploadId }) => void this.#createdAtMs.set(uploadId, world.scheduler.nowMs);
    world.onMade = (upload) => this.#noteMade(upload);
    world.onAborted = ({ uploadId }) => this.#release(uploadId);
    world.table.store.watch(({ key: { pk, sk }, before, after }) => {
      if (before === undefined || !sk.startsWith('RESERVATION#')) return;
      const ended = noteEnded(world, { pk, was: fromStored(before), is: after && fromStored(after) });
      for (const key of ended) {
        const left = world.archives.openUploads.filter(
          (open) => open.key === key && this.#held.has(open.uploadId),
        );
        if (left.length > 0)
          world.fail(new Violation(`Parts: a claim is released, and ${key} may be completed`));
      }
    });
  }

  /** A client has got an answer that names its upload: from now on its file may arrive. */
  hold(truth: Truth, { uploadId, key }: MultipartUpload, sizeBytes: number): void {
    const isOpen = this.#world.archives.openUploads.some((open) => open.uploadId === uploadId);
    if (!isOpen || this.#held.has(uploadId)) return;
    const uploading = { name: key.slice(truth.tenant.length + 1), sizeBytes };
    this.#held.set(uploadId, { truth, uploading });
    truth.beginUpload(uploading);
  }

  #release(uploadId: string): void {
    const held = this.#held.get(uploadId);
    this.#held.delete(uploadId);
    held?.truth.endUpload(held.uploading);
  }

  /** A store says that it was put when its upload was created, or when it was completed. */
  async #noteMade({ key, uploadId }: MultipartUpload): Promise<void> {
    const { archives, scheduler, coverage } = this.#world;
    const [tenant = '', repo = '', ...name] = key.split('/');
    const made = await archives.head(key);
    const { truth } = this.#world.account(tenant);
    if (truth.stored.has(key.slice(tenant.length + 1)))
      throw new Violation(`I7: ${key} was made of parts where something was stored`);
    coverage.ofParts += 1;
    const beganMs = this.#createdAtMs.get(uploadId) ?? scheduler.nowMs;
    this.#world.land({ tenant, repo, oid: name.join('/'), sizeBytes: made?.sizeBytes ?? 0, beganMs });
    this.#release(uploadId);
  }
}
