import { afterEach, it } from 'vitest';
import { type EmbeddedStack, startEmbeddedStack } from '../../../../local/start.ts';
import { Api } from '../../../blackbox/api.ts';
import { sendInParts, smallParts } from '../../../blackbox/subjects/files/parts.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();
const adminToken = 'admin-token-of-this-test';

let stack: EmbeddedStack | undefined;
afterEach(async () => {
  await stack?.close();
  stack = undefined;
});

it('a file that one PUT cannot carry arrives in parts, byte for byte, and is counted', async () => {
  stack = await startEmbeddedStack({ port: 0, dataDir: tempFolder(), adminToken, ...smallParts });
  await sendInParts(new Api({ url: stack.url, adminToken }));
});
