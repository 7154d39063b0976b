import { useEffect, useState } from 'preact/hooks';
import { ownAddresses } from './address.ts';
import type { DoorProps } from './view-props.ts';

/** Doors: addresses that aren't views. */

type Doors = typeof import('./views/all-but-overview.ts')['doors'];

const pattern = new RegExp(`^#_(${ownAddresses.flatMap(({ door }) => door ?? []).join('|')})`);
const doorOf = () => pattern.exec(location.hash)?.[1];

/** The door that the address is. */
export function useDoor(): string | undefined {
  const [door, setDoor] = useState(doorOf);
  useEffect(() => {
    const onChange = () => setDoor(doorOf());
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return door;
}

/** One of them, fetched when it is needed. */
export function Door({ door, ...props }: DoorProps & { door: string }) {
  const [doors, setDoors] = useState<Doors>();
  useEffect(() => {
    import('./views/all-but-overview.ts').then(
      (loaded) => setDoors(loaded.doors),
      () => location.reload(),
    );
  }, []);
  const Own = doors?.[door.split('/')[0] ?? ''];
  return Own ? <Own {...props} /> : null;
}
