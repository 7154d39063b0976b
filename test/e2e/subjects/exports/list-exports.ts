import { ListMultipartUploadsCommand, paginateListObjectsV2 } from '@aws-sdk/client-s3';
import type { Stack } from '../../stack.ts';
import { storeClient } from '../../store-truth.ts';

/** What exports have in the store, beside the CRC-32 for later ones: keys of objects, and of uploads that are not complete. */
export async function listExports(stack: Stack): Promise<{ keys: string[]; uploads: string[] }> {
  const client = await storeClient(stack);
  const place = { Bucket: '_objects', Prefix: '_exports/' };
  try {
    const keys: string[] = [];
    for await (const page of paginateListObjectsV2({ client }, place))
      keys.push(...(page.Contents ?? []).map(({ Key = '' }) => Key));
    // One page: there are fewer than 1,000.
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand(place));
    const isKept = (key: string) => key.split('/')[2] === 'crc32';
    return { keys: keys.filter((key) => !isKept(key)), uploads: Uploads.map(({ Key = '' }) => Key) };
  } finally {
    client.destroy();
  }
}
