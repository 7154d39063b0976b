import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SessionBody } from '../../lambda/frame/contract/sessions.ts';
import type { DoorProps } from './view-props.ts';

/**
 * Doors: addresses that aren't views. `#_join/SECRET` is an invitation, `#_device/CODE` logs in a command line, and
 * `#_email/confirm/KEY` and `#_email/end/KEY` are links in e-mails.
 */

type Doors = typeof import('./views/all-but-overview.ts')['doors'];

const doorOf = () =>
  /^#_(join(?=\/)|device(?:\/[\w-]*)?$|email(?=\/(?:confirm|end)\/[\w.-]+$))/.exec(location.hash)?.[1];

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

/** One of them, fetched when it is needed. Links need nobody to have signed in. */
export function Door(
  props: DoorProps & { door: string; session: SessionBody | null; signIn: ComponentChildren },
) {
  const { door, session, signIn, onSignedIn } = props;
  // The address loses its secret once it is used.
  const [secret] = useState(location.hash.slice('#_join/'.length));
  const [doors, setDoors] = useState<Doors>();
  useEffect(() => {
    import('./views/all-but-overview.ts').then(
      (loaded) => setDoors(loaded.doors),
      () => location.reload(),
    );
  }, []);
  if (!doors) return null;
  const { Join, Device, EmailLink } = doors;
  if (door === 'email') return <EmailLink />;
  if (door === 'join') return <Join secret={secret} onSignedIn={onSignedIn} />;
  return session ? <Device session={session} code={door.split('/')[1] ?? ''} /> : signIn;
}
