import { startStore } from '../../local/store/start-store.ts';
import type { Child } from '../child/child.ts';
import { serve } from '../child/serve.ts';

/** The embedded store in its own process, for machines without versitygw. */
export type OwnStoreProcess = Child<typeof api>;

const api = {
  /** @returns the port. */
  start: async (input: {
    folder: string;
    bucket: string;
    credentials: { accessKeyId: string; secretAccessKey: string };
  }): Promise<number> => {
    const { folder, bucket, credentials } = input;
    return (await startStore({ port: 0, dataDir: folder, bucket, credentials })).port;
  },
};

serve(api);
