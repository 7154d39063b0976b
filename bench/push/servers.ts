import { giftless } from './giftless.ts';
import type { PushOptions } from './options.ts';
import { ours } from './our-server.ts';
import { presignOnly } from './presign-server.ts';
import { rudolfs } from './rudolfs.ts';
import type { ServerKind } from './server.ts';

const peers = { giftless, rudolfs } as const;

/** The servers of a run. A peer that can't be installed is named with the reason, and left out. */
export async function chooseServers(
  options: Pick<PushOptions, 'peers' | 'before'>,
  print: (text: string) => void,
): Promise<{ servers: readonly ServerKind[]; missing: readonly string[] }> {
  const servers: ServerKind[] = [ours, presignOnly];
  const missing: string[] = [];
  for (const [name, install] of options.peers ? Object.entries(peers) : []) {
    try {
      print(`${name}: installed, or being installed (minutes) …`);
      servers.push(await install());
    } catch (error) {
      missing.push(`${name} is left out: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { servers, missing };
}
