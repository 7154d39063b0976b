import type { UrlSigner } from '../lambda/ports/object-store.ts';
import type { Turns } from './turns.ts';

/** Signatures that are made in one piece: about two milliseconds. */
const signaturesAtOnce = 128;

/** A signer that pauses between its signatures while it signs many. */
export function pausingSigner(signer: UrlSigner, turns: Pick<Turns, 'pauseAfter'>): UrlSigner {
  return {
    signUpload: async (input) => {
      await turns.pauseAfter(signaturesAtOnce);
      return signer.signUpload(input);
    },
    signDownload: async (input) => {
      await turns.pauseAfter(signaturesAtOnce);
      return signer.signDownload(input);
    },
  };
}
