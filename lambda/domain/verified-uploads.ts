/**
 * An upload of this size is verified, whatever its place in the batch. It may take longer than the queue waits after the
 * verify of a later one. And what is told of it is worth a request.
 */
const verifiedBytesMin = 8 * 1024 ** 2;

/**
 * Objects in a batch of git-lfs that is followed by another one, unless a push happens to end with it: the default of
 * `lfs.transfer.batchSize`. https://github.com/git-lfs/git-lfs/blob/main/tq/manifest.go
 */
const fullBatchObjects = 100;

/**
 * The uploads that the client is asked to verify. A verify asks for a recount, so it tells something when nothing is
 * left to upload: after the last, and after each that takes long. git-lfs begins uploads in the order of the answer, and
 * each verify holds up another one for a round trip. It also waits for the last one of a batch before it asks for the
 * next: a full batch of small objects is not verified, because another one follows.
 *
 * Nothing depends on it: what nobody verified is looked for (`lookAgainAtMs` in `lambda/domain/recount-policy.ts`).
 *
 * @param uploads oid → bytes, in the order of the answer.
 * @param batch.objects how many the client asked for.
 */
export function uploadsToVerify(
  uploads: ReadonlyMap<string, number>,
  batch: { readonly objects: number },
): ReadonlySet<string> {
  const oids = [...uploads.keys()];
  const large = oids.filter((oid) => (uploads.get(oid) ?? 0) >= verifiedBytesMin);
  return new Set([...large, ...(batch.objects === fullBatchObjects ? [] : oids.slice(-1))]);
}
