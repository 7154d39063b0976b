import type { ObjectListing } from '../../lambda/core/store/rules/store.ts';

/** A listing that, as older versions of MinIO do, lists nothing after a key that doesn't begin with the prefix. */
export function startsWithinPrefix(inner: ObjectListing): ObjectListing {
  return {
    listPage: (request) => {
      const { startAfter = request.prefix, prefix } = request;
      return inner.listPage(startAfter.startsWith(prefix) ? request : { prefix: 'nothing/' });
    },
    listFolders: (request) => inner.listFolders(request),
  };
}
