import { before } from './before.ts';
import { giftless } from './giftless.ts';
import type { PushOptions } from './options.ts';
import { ours } from './our-server.ts';
import { presignOnly } from './presign-server.ts';
import { rudolfs } from './rudolfs.ts';
import type { ServerKind } from './server.ts';
import type { StoreKindOfRun } from './store.ts';

/** Uploads in parts, and headers of an answer that a URL asks for. */
const peersNeedVersitygw =
  'giftless and rudolfs are left out: they need more of a store than the embedded one has. ' +
  'Install versitygw with `.ci/engines.sh install`.';

/** The servers of a run. One that can't be installed is named with the reason, and left out. */
export async function chooseServers(
  options: Pick<PushOptions, 'peers' | 'before'>,
  { store, print }: { store: Pick<StoreKindOfRun, 'isEmbedded'>; print: (text: string) => void },
): Promise<{ servers: readonly ServerKind[]; missing: readonly string[] }> {
  const servers: ServerKind[] = [ours, presignOnly];
  const missing: string[] = [];
  if (options.peers && store.isEmbedded) missing.push(peersNeedVersitygw);
  const withPeers = options.peers && !store.isEmbedded;
  const others = { ...(options.before && { before }), ...(withPeers && { giftless, rudolfs }) };
  for (const [name, install] of Object.entries(others)) {
    try {
      print(`${name}: looked for, or installed (minutes) …`);
      servers.push(await install());
    } catch (error) {
      missing.push(`${name} is left out: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { servers, missing };
}
