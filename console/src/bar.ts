/** What a part that is not empty has at least, of the whole bar. */
const sliver = 0.006;

/** In bytes. */
export interface Parts {
  readonly stored: number;
  readonly reserved: number;
  readonly limit: number;
}

/** Widths of the bar, from 0 to 1. Past the limit the scale grows, and `limit` is where it stands. */
export function barOf({ stored, reserved, limit }: Parts) {
  const used = stored + reserved;
  const scale = Math.max(used, limit);
  if (scale === 0) return { stored: 0, reserved: 0, over: 0, limit: 1 };
  const share = (bytes: number) => (bytes === 0 ? 0 : Math.max(sliver, bytes / scale));
  const beyond = Math.max(0, used - limit);
  // What is beyond the limit is shown as such, whatever it is.
  const over = share(beyond);
  const room = used < limit ? 1 - sliver : 1 - over;
  const storedLeast = stored > 0 ? Math.min(sliver, room / 2) : 0;
  const reservedWidth = Math.min(share(Math.max(0, reserved - beyond)), room - storedLeast);
  const storedWidth = Math.min(share(Math.min(stored, limit)), room - reservedWidth);
  return { stored: storedWidth, reserved: reservedWidth, over, limit: 1 - over };
}
