import { expect, it } from 'vitest';
import type { SignUploadInput } from '../../../lambda/ports/object-store.ts';
import { pausingSigner } from '../../../local/pausing-signer.ts';

const download = { key: 'acme/art/a', signedAtMs: 1, lifetimeMs: 2 };
const upload: SignUploadInput = { ...download, oid: 'a', sizeBytes: 3 };

it('signs as the signer does, each time after its turn', async () => {
  const calls: unknown[] = [];
  const signer = pausingSigner(
    {
      signUpload: async (input) => {
        calls.push(input);
        return { href: 'up', header: {} };
      },
      signDownload: async (input) => {
        calls.push(input);
        return { href: 'down', header: {} };
      },
    },
    {
      pauseAfter: async (pieces) => {
        calls.push(pieces);
      },
    },
  );
  expect(await signer.signUpload(upload)).toEqual({ href: 'up', header: {} });
  expect(await signer.signDownload(download)).toEqual({ href: 'down', header: {} });
  expect(calls).toEqual([128, upload, 128, download]);
});
