import { randomBytes } from 'node:crypto';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import type { SignedRequest } from '../../lambda/ports/object-store.ts';
import { type Probe, sha256Of } from './probe.ts';
import type { RawOutcome } from './raw-request.ts';

/** One upload that was announced honestly, and its signed URL. */
export interface Announced {
  readonly key: string;
  readonly body: Buffer;
  readonly signed: SignedRequest;
}

/** A request that a client could send, with the URL that it got, to store something that was not announced. */
export interface Lie {
  readonly id: string;
  /** What is uploaded: `other bytes of the same length`. */
  readonly what: string;
  /** The store cannot answer, because the client is gone. */
  readonly isCut?: boolean;
  /** Sends it. @param announced is signed for this lie alone. */
  readonly send: (probe: Probe, announced: Announced) => Promise<RawOutcome>;
}

/** Longest time for which a reservation still covers uploads by a URL that has expired. */
export const lateMsMax = defaultSettings.reservationSlackMs - defaultSettings.clockSkewMs;

interface Sent {
  readonly href?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly lengthBytes?: number;
  readonly cutAfterBytes?: number;
}

function put(probe: Probe, { signed }: Announced, sent: Sent): Promise<RawOutcome> {
  const { href = signed.href, header = signed.header, body, lengthBytes = body.length, cutAfterBytes } = sent;
  const headers = { ...header, 'content-length': `${lengthBytes}` };
  return probe.sendRaw({
    method: 'PUT',
    href,
    headers,
    body,
    ...(cutAfterBytes !== undefined && { cutAfterBytes }),
  });
}

const checksumOf = (body: Buffer) => ({
  'x-amz-checksum-sha256': Buffer.from(sha256Of(body), 'hex').toString('base64'),
});

/** Each must be refused. Every one breaks exactly one promise of a signed URL. */
export const lies: readonly Lie[] = [
  {
    id: 'other-bytes',
    what: 'other bytes of the same length',
    send: (probe, announced) => put(probe, announced, { body: randomBytes(announced.body.length) }),
  },
  {
    id: 'other-checksum',
    what: 'other bytes with their own checksum',
    send: (probe, announced) => {
      const body = randomBytes(announced.body.length);
      return put(probe, announced, { body, header: checksumOf(body) });
    },
  },
  {
    id: 'no-checksum',
    what: 'other bytes without a checksum',
    send: (probe, announced) =>
      put(probe, announced, { body: randomBytes(announced.body.length), header: {} }),
  },
  {
    id: 'fewer-bytes',
    what: 'fewer bytes',
    send: (probe, announced) => put(probe, announced, { body: announced.body.subarray(1) }),
  },
  {
    id: 'more-bytes',
    what: 'more bytes',
    send: (probe, announced) =>
      put(probe, announced, { body: Buffer.concat([announced.body, randomBytes(1000)]) }),
  },
  {
    // Somebody who knows a large object's hash announces it as small. The checksum is right, the length is not.
    id: 'wrong-length',
    what: 'bytes with the announced SHA-256, but more of them than announced',
    send: async (probe, { key, body }) => {
      const signed = await probe.signUpload({ key, oid: sha256Of(body), sizeBytes: 1 });
      return await put(probe, { key, body, signed }, { body });
    },
  },
  {
    id: 'no-length',
    what: 'a body without a length',
    send: (probe, { signed, body }) =>
      probe.sendRaw({
        method: 'PUT',
        href: signed.href,
        headers: { ...signed.header, 'transfer-encoding': 'chunked' },
        body: Buffer.concat([body, body]),
      }),
  },
  {
    id: 'cut-off',
    what: 'an upload that ends half-way',
    isCut: true,
    send: (probe, announced) => {
      const { body } = announced;
      return put(probe, announced, { body, cutAfterBytes: Math.floor(body.length / 2) });
    },
  },
  {
    id: 'other-key',
    what: 'an upload by a URL of another key',
    send: async (probe, announced) => {
      const { body, signed } = announced;
      const elsewhere = probe.newKey();
      probe.written.add(elsewhere);
      const { href } = await probe.signUpload({
        key: elsewhere,
        oid: sha256Of(body),
        sizeBytes: body.length,
      });
      // The announced key, with the signature for the other one.
      const moved = signed.href.replace(/\?.*/s, '') + href.slice(href.indexOf('?'));
      return await put(probe, announced, { body, href: moved });
    },
  },
  {
    // Signed in the past, so that nobody has to wait.
    id: 'late-upload',
    what: `an upload ${lateMsMax / 1000} s after its URL expired`,
    send: async (probe, { key, body }) => {
      const signedAtMs = Date.now() + probe.clockSkewMs - lateMsMax - 1000;
      const oid = sha256Of(body);
      const signed = await probe.signUpload({
        key,
        oid,
        sizeBytes: body.length,
        signedAtMs,
        lifetimeMs: 1000,
      });
      return await put(probe, { key, body, signed }, { body });
    },
  },
];
