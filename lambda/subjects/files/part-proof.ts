import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { allPages } from '../../core/rules/async.ts';
import { sendInHalves } from '../../core/store/only-new-proof.ts';
import { ObjectExistsError } from '../../core/store/rules/archive-store.ts';
import { ownFolders } from '../../core/store/rules/own-folders.ts';
import { type SignedRequest, StoreRefusedError } from '../../core/store/rules/store.ts';
import type { PartPorts } from './ports.ts';

type ProofDeps = Pick<CoreDeps, 'signer' | 'store' | 'clock' | 'ids'> & Pick<PartPorts, 'archives'>;

const isAccepted = async (signed: SignedRequest, body: string) => (await sendInHalves(signed, body)) === 200;
const forMs = 60_000;

/**
 * Whether a store keeps what files in parts rest on: a part's URL takes its exact length until its upload is aborted, and parts become
 * no object where one is. It's tried, in a dozen requests, until it holds.
 *
 * @throws {StoreUnavailableError}
 */
export function partsProver(deps: ProofDeps): () => Promise<boolean> {
  let trying: Promise<boolean> | undefined;
  return async () => {
    trying ??= proveParts(deps);
    let holds = false;
    try {
      holds = await trying;
      return holds;
    } finally {
      if (!holds) trying = undefined;
    }
  };
}

async function proveParts({ archives, signer, store, clock, ids }: ProofDeps): Promise<boolean> {
  const key = `${ownFolders.proofs}/${ids.random(16)}-parts`;
  const began = async () => {
    const upload = await archives.createUpload(key);
    const part = { uploadId: upload.uploadId, number: 1 };
    const signing = { key, sizeBytes: 1, part, signedAtMs: clock.nowMs(), lifetimeMs: forMs };
    return { upload, signed: await signer.signUpload(signing) };
  };
  const complete = async ({ upload }: Awaited<ReturnType<typeof began>>) =>
    archives.complete(upload, await allPages(archives.parts(upload)), { ifAbsent: true, totalBytes: 1 });
  const all: Awaited<ReturnType<typeof began>>[] = [];
  try {
    const [first, second] = [await began(), await began()];
    all.push(first, second);
    if ((await isAccepted(first.signed, 'xx')) || !(await isAccepted(first.signed, 'x'))) return false;
    await complete(first);
    if (!(await isAccepted(second.signed, 'x'))) return false;
    const isKept = await complete(second).then(
      () => false,
      (error) => {
        if (error instanceof ObjectExistsError) return true;
        throw error;
      },
    );
    await archives.abort(second.upload);
    return isKept && !(await isAccepted(second.signed, 'x'));
  } catch (error) {
    if (error instanceof StoreRefusedError) return false;
    throw error;
  } finally {
    for (const { upload } of all) await archives.abort(upload).catch(() => undefined);
    await store.delete([key], { deadlineMs: clock.nowMs() + forMs }).catch(() => undefined);
  }
}
