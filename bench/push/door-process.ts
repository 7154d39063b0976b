import type { Child } from '../child/child.ts';
import { serve } from '../child/serve.ts';
import { type Door, openDoor } from './door.ts';
import { type Latencies, storeLatencyMs } from './latency.ts';
import type { SeenRequest } from './request-kind.ts';

/** A door in its own process, so that a busy benchmark delays no request. It opens one at a time. */
export type DoorProcess = Child<typeof api>;

interface DoorPlace {
  readonly to: 'api' | 'store';
  readonly targetPort: number;
  readonly latencies: Latencies;
  /** PEM, for a door of HTTPS. */
  readonly tls?: { readonly key: string; readonly cert: string } | undefined;
}

let door: Door | undefined;

const api = {
  /** @returns the port. */
  open: async ({ to, targetPort, latencies, tls }: DoorPlace): Promise<number> => {
    await door?.close();
    door = await openDoor({
      targetPort,
      tls,
      latencyMs: (request) => (to === 'api' ? latencies.clientToApi : storeLatencyMs(latencies, request)),
    });
    return door.port;
  },
  take: (): readonly SeenRequest[] => door?.take() ?? [],
  close: async (): Promise<void> => {
    await door?.close();
    door = undefined;
  },
};

serve(api);
