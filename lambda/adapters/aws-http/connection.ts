import { isIP, connect as netConnect, type Socket } from 'node:net';
import {
  type ConnectionOptions,
  createSecureContext,
  type SecureContext,
  connect as tlsConnect,
} from 'node:tls';

/** Bytes read from a connection at a time. */
const readBytes = 65_536;

export interface ConnectionEvents {
  /** The piece is valid only during the call. */
  readonly onBytes: (piece: Buffer) => void;
  /** Called once. Without an error: the other side ended the connection, or `destroy` was called. */
  readonly onClose: (error: Error | undefined) => void;
  readonly onConnect: () => void;
}

/** Where connections lead. */
export interface Destination {
  readonly isTls: boolean;
  readonly host: string;
  readonly port: number;
}

export function destinationOf(origin: string): Destination {
  const { protocol, hostname, port } = new URL(origin);
  const isTls = protocol === 'https:';
  // A URL has brackets around an IPv6 address, a socket has none.
  const host = hostname.replace(/^\[|\]$/g, '');
  return { isTls, host, port: port === '' ? (isTls ? 443 : 80) : Number(port) };
}

/** Opens connections. It keeps what makes later ones to the same destination cheaper. */
export class Connector {
  readonly #destination: Destination;
  #context: SecureContext | undefined;
  #session: Buffer | undefined;

  constructor(destination: Destination) {
    this.#destination = destination;
  }

  /**
   * Opens a connection. All that arrives on it is read into one buffer, which is used again for the next piece: Node's
   * own way allocates 64 KiB for each, and collecting them takes longer than reading.
   */
  open({ onBytes, onClose, onConnect }: ConnectionEvents): Socket {
    const { isTls, host, port } = this.#destination;
    const buffer = Buffer.allocUnsafeSlow(readBytes);
    const onread = {
      buffer,
      callback: (count: number) => {
        onBytes(buffer.subarray(0, count));
        return true;
      },
    };
    const options = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 1_000, onread };
    const socket = isTls ? this.#openTls(options) : netConnect(options);
    let failure: Error | undefined;
    let isClosed = false;
    const close = () => {
      if (isClosed) return;
      isClosed = true;
      onClose(failure);
    };
    socket.once('connect', onConnect);
    socket.on('error', (error) => {
      failure ??= error;
      close();
    });
    // Half a connection is of no use.
    socket.once('end', close);
    socket.once('close', close);
    return socket;
  }

  #openTls(options: { host: string; port: number }): Socket {
    this.#context ??= createSecureContext();
    const offered = this.#session;
    const tlsOptions: ConnectionOptions = {
      ...options,
      secureContext: this.#context,
      ALPNProtocols: ['http/1.1'],
      ...(isIP(options.host) === 0 && { servername: options.host }),
      ...(offered && { session: offered }),
    };
    const socket = tlsConnect(tlsOptions);
    // The next connection goes on with the keys of this one: its handshake is shorter.
    socket.on('session', (session) => {
      this.#session = session;
    });
    // Who cannot go on with them should begin anew, but some end the connection. The next one does without.
    let isSecure = false;
    socket.once('secureConnect', () => {
      isSecure = true;
    });
    const forget = () => {
      if (!isSecure && this.#session === offered) this.#session = undefined;
    };
    for (const end of ['error', 'end', 'close']) socket.once(end, forget);
    return socket;
  }
}
