/** A text without tokens, signatures, and credentials: for a log line, or what is kept of a request. */
export function redactText(text: string): string {
  return (
    text
      .replace(/\b(lfs[qsv]_)[A-Za-z0-9]{8,}/g, '$1…')
      .replace(/\b(whsec_)[A-Za-z0-9+/=]{8,}/g, '$1…')
      .replace(/\?[^\s"']*X-Amz-Signature=[^\s"']*/gi, '?…')
      .replace(/\b(Basic|Bearer) [A-Za-z0-9+/=._~-]{8,}/gi, '$1 …')
      // What a service quotes of a request that it refuses.
      .replace(/\b((?:Credential|Signature)=|X-Amz-Security-Token[=:] ?)[^\s"'&,<]+/gi, '$1…')
  );
}
