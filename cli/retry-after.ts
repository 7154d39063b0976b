/** The pause that `Retry-After` asks for, in seconds. A date there is not read: nobody in this field sends one. */
export function retryAfterMsOf(headers: Headers): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}
