import { startStore } from '../../../../local/store/start-store.ts';
import { bucket, credentials } from '../../../support/store-fixture.ts';

/** A store in a process of its own, for a test that kills it. It prints its URL when it is ready. */
const running = await startStore({ port: 0, dataDir: process.argv[2] ?? '', bucket, credentials });
process.stdout.write(`${running.url}\n`);
