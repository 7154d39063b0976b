import { before } from './before.ts';
import { giftless } from './giftless.ts';
import type { PushOptions } from './options.ts';
import { ours } from './our-server.ts';
import { presignOnly } from './presign-server.ts';
import { rudolfs } from './rudolfs.ts';
import type { ServerKind } from './server.ts';

/** The servers of a run. One that can't be installed is named with the reason, and left out. */
export async function chooseServers(
  options: Pick<PushOptions, 'peers' | 'before'>,
  print: (text: string) => void,
): Promise<{ servers: readonly ServerKind[]; missing: readonly string[] }> {
  const servers: ServerKind[] = [ours, presignOnly];
  const missing: string[] = [];
  const others = { ...(options.before && { before }), ...(options.peers && { giftless, rudolfs }) };
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
