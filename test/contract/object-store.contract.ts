import { afterAll, beforeAll, describe, test } from 'vitest';
import {
  anyNames,
  type Context,
  type KeyNames,
  type ObjectStoreSkips,
  type ObjectStoreTarget,
} from './object-store-context.ts';
import { copyTests } from './object-store-copies.contract.ts';
import { downloadTests } from './object-store-downloads.contract.ts';
import { listingTests } from './object-store-listing.contract.ts';
import { multipartTests } from './object-store-multipart.contract.ts';
import { objectTests } from './object-store-objects.contract.ts';
import { uploadTests } from './object-store-uploads.contract.ts';

/**
 * The contract of ObjectStore, ObjectListing and UrlSigner, as tests on one store.
 *
 * @param options.prefixOf the prefix of the nth place that a test uses, where not any will do.
 * @param options.names of the objects there; default: any.
 */
export function objectStoreContract(
  name: string,
  options: {
    open: () => Promise<ObjectStoreTarget>;
    skips?: ObjectStoreSkips;
    prefixOf?: (place: number) => string;
    names?: KeyNames;
  },
): void {
  const skips = options.skips ?? {};
  describe(`object store contract: ${name}`, () => {
    let opened: ObjectStoreTarget | undefined;
    let prefixes = 0;
    const run = `run-${Date.now().toString(36)}`;
    const context: Context = {
      get target() {
        if (opened === undefined) throw new Error('The store is not open.');
        return opened;
      },
      prefix: () => {
        prefixes += 1;
        return options.prefixOf?.(prefixes) ?? `${run}/${prefixes}/`;
      },
      names: options.names ?? anyNames,
    };
    beforeAll(async () => {
      opened = await options.open();
    });
    afterAll(async () => {
      await opened?.stop();
    });

    describe('objects', () => objectTests(context, skips));
    if (skips.listing === undefined) describe('listing', () => listingTests(context, skips));
    else test.skip(`listing: ${skips.listing}`);
    if (skips.multipart === undefined) {
      describe('uploads in parts', () => multipartTests(context));
      describe('copies', () => copyTests(context));
    } else {
      test.skip(`uploads in parts, and copies: ${skips.multipart}`);
    }
    if (skips.urls === undefined) {
      describe('upload URLs', () => uploadTests(context, skips));
      describe('download URLs', () => downloadTests(context, skips));
    } else {
      test.skip(`URLs: ${skips.urls}`);
    }
  });
}
