import type { Child } from '../processes.ts';
import { serve } from '../serve.ts';
import { type Door, type DoorOptions, openDoor, type Tally, tally } from './door.ts';

let door: Door | undefined;

const api = {
  /** @returns the port. */
  open: async (options: Omit<DoorOptions, 'wait'>): Promise<number> => {
    await door?.close();
    door = await openDoor(options);
    return door.port;
  },
  take: (): Tally => door?.take() ?? tally('api', []),
  close: async (): Promise<void> => {
    await door?.close();
    door = undefined;
  },
};

/** A door in its own process, so that a busy benchmark delays no request. It opens one at a time. */
export type DoorProcess = Child<typeof api>;

serve(api);
