import type { Socket } from 'node:net';
import { Connector, destinationOf } from './connection.ts';
import { freshFor, idleMsMax } from './idle.ts';

/** What the user of a connection hears of it. */
export interface ConnectionUser {
  readonly onOpen: () => void;
  /** The piece is valid only during the call. */
  readonly onBytes: (piece: Buffer) => void;
  /** The connection is closed. Without an error, the other side did so in peace. */
  readonly onClose: (error: Error | undefined) => void;
}

/** A connection that is used by one request at a time. */
export class PooledConnection {
  readonly #pool: ConnectionPool;
  readonly #socket: Socket;
  #user: ConnectionUser | undefined;
  #isOpen = false;
  #isClosed = false;
  #isStillFresh = () => true;

  constructor(pool: ConnectionPool, connector: Connector) {
    this.#pool = pool;
    this.#socket = connector.open({
      onConnect: () => {
        this.#isOpen = true;
        this.#user?.onOpen();
      },
      onBytes: (piece) => {
        // Nobody asked for what arrives on an idle connection.
        if (this.#user) this.#user.onBytes(piece);
        else if (!this.#isClosed) this.close();
      },
      onClose: (error) => {
        const user = this.#user;
        this.close();
        user?.onClose(error);
      },
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether a request may be sent: the other side will not have closed it by now. */
  get isFresh(): boolean {
    return !this.#isClosed && this.#isStillFresh();
  }

  begin(user: ConnectionUser): void {
    this.#user = user;
    this.#socket.ref();
  }

  write(text: string): void {
    this.#socket.write(text);
  }

  /** The request has ended: the next one may use the connection, if it is still good. */
  finish({
    isReusable,
    keepAliveSeconds,
  }: {
    isReusable: boolean;
    keepAliveSeconds?: number | undefined;
  }): void {
    this.#user = undefined;
    const announcedMs = keepAliveSeconds === undefined ? idleMsMax : (keepAliveSeconds - 1) * 1000;
    const idleMs = Math.min(idleMsMax, announcedMs);
    // Closed at once, not when the pool would use it again: that would serve those that wait twice over.
    if (!isReusable || this.#isClosed || idleMs <= 0) {
      this.close();
      return;
    }
    this.#isStillFresh = freshFor(idleMs);
    // An idle connection does not keep the process alive.
    this.#socket.unref();
    this.#pool.giveBack(this);
  }

  close(): void {
    this.#user = undefined;
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.destroy();
    this.#pool.remove(this);
  }
}

/** The connections to one origin: at most so many, the latest used first. */
export class ConnectionPool {
  readonly #connector: Connector;
  readonly #connectionsMax: number;
  readonly #all = new Set<PooledConnection>();
  readonly #idle: PooledConnection[] = [];
  readonly #waiting = new Set<(connection: PooledConnection) => void>();
  #isDestroyed = false;

  constructor(origin: string, connectionsMax: number) {
    this.#connector = new Connector(destinationOf(origin));
    this.#connectionsMax = connectionsMax;
  }

  /**
   * Gives a connection, at once or when one is free.
   *
   * @returns leaves the queue.
   */
  take(use: (connection: PooledConnection) => void): () => void {
    const connection = this.#next();
    if (connection) use(connection);
    else this.#waiting.add(use);
    return () => this.#waiting.delete(use);
  }

  giveBack(connection: PooledConnection): void {
    if (this.#isDestroyed) {
      connection.close();
      return;
    }
    this.#idle.push(connection);
    this.#serve();
  }

  remove(connection: PooledConnection): void {
    this.#all.delete(connection);
    const index = this.#idle.indexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#serve();
  }

  /** Closes idle connections, and each of the others once its request has ended. */
  destroy(): void {
    this.#isDestroyed = true;
    for (const connection of [...this.#idle]) connection.close();
  }

  #serve(): void {
    for (const use of this.#waiting) {
      const connection = this.#next();
      if (!connection) return;
      this.#waiting.delete(use);
      use(connection);
    }
  }

  #next(): PooledConnection | undefined {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      if (idle.isFresh) return idle;
      idle.close();
    }
    if (this.#all.size >= this.#connectionsMax) return undefined;
    const connection = new PooledConnection(this, this.#connector);
    this.#all.add(connection);
    return connection;
  }
}
