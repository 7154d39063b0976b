import { useEffect, useState } from 'preact/hooks';
import { type Address, formatAddress, nearestAddress, parseAddress } from './address.ts';

/** Whether a heading that appears takes the focus: after a change of the view, not when the page is opened. */
export const focus = { isDue: false };

const viewOf = ({ view, tenant, repo }: Address) => [view, tenant, repo].join(' ');

/** Another view is a step in the browser's history. The same one with other filters is not. */
export function go(to: Address): void {
  const href = formatAddress(to);
  if (viewOf(to) !== viewOf(parseAddress(location.hash))) {
    location.hash = href;
    return;
  }
  history.replaceState(null, '', href);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** The address, or the nearest one that this reader can open. The browser shows that one. */
export function useAddress(reader: Parameters<typeof nearestAddress>[1]): Address {
  const read = () => nearestAddress(parseAddress(location.hash), reader);
  const [address, setAddress] = useState(read);
  useEffect(() => {
    let before = read();
    const onChange = () => {
      const now = read();
      if (viewOf(now) !== viewOf(before)) {
        focus.isDue = true;
        scrollTo(0, 0);
      }
      before = now;
      if (location.hash !== formatAddress(now) && location.hash + formatAddress(now) !== '#')
        history.replaceState(null, '', formatAddress(now));
      setAddress(now);
    };
    onChange();
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, [reader.tenant, reader.mayManage]);
  return address;
}
