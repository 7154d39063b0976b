/**
 * Where the service writes beside objects: all that it does lies below one of these. No tenant's name begins with an underscore, so
 * no listing of a tenant, and no event of the store about a tenant, ever sees them, and no usage counts them. So what is written
 * there has a bound before its URL is signed, and a record that leads to it until it's removed. The store's lifecycle is for what
 * dies with a function alone: a store in a folder has none.
 */
export const ownFolders = {
  /** Reachable sets and candidates of gc runs. */
  gc: '_gc',
  /** Archives, and the work on them. */
  exports: '_exports',
  /** What clones call a repo's objects, a file a repo. */
  names: '_names',
  /** Chunks of large objects. */
  parts: '_parts',
  /** Tries of a store that isn't AWS's: two objects each, which that removes, or a later one. */
  proofs: '_proofs',
  /** What tenants stored in each hour, a file an hour. */
  usage: '_usage',
} as const;
