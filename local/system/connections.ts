import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionLimits {
  /** At a time. */
  readonly connectionsMax?: number | undefined;
  /** Bytes a second that each request moves while its client is waited for. 0, the default: any. */
  readonly leastRate?: number | undefined;
  /** Who sends a request: the one with the most of them makes place for others. Default: the connection's address. */
  readonly clientOf?: (message: IncomingMessage) => string;
}

/** Without a byte, from the start. */
const firstSeconds = 60;
/** What a client that sends fast can save. */
const savedSecondsMax = 120;
/** Of a download, the system says that it goes on once more than a MiB has gone, to a proxy on the same machine for example. */
const unseenBytesMax = 2 * 1024 ** 2;

/** A request, until its response has ended. */
interface Exchange {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly client: string;
  movedBytes: number;
  savedSeconds: number;
}

const patient = new WeakSet<IncomingMessage>();

/** Of a request whose sender has shown that it may send a body: it isn't ended because the body isn't whole. */
export const letTakeTime = (message: IncomingMessage): void => void patient.add(message);

const addressOf = ({ socket }: { socket: Socket }) => String(socket.remoteAddress);

/** Who waits for the disk or a function isn't slow by its own fault. */
const waitsForClient = ({ message, response }: Exchange) =>
  message.complete ? response.writableLength > 0 : message.readableLength === 0;

/** @returns whether it has been too slow for too long. Without a least rate, it's only compared with others. */
function countSecond(exchange: Exchange, leastRate: number): boolean {
  const { message, response, movedBytes } = exchange;
  exchange.movedBytes = message.socket.bytesRead + message.socket.bytesWritten - response.writableLength;
  const rate = leastRate || 512;
  const earned = Math.max(0, exchange.movedBytes - movedBytes) / rate;
  const saved = exchange.savedSeconds + earned - (waitsForClient(exchange) ? 1 : 0);
  exchange.savedSeconds = Math.min(message.complete ? unseenBytesMax / rate : savedSecondsMax, saved);
  return leastRate > 0 && saved <= 0;
}

/**
 * When a server is full, the connection that has waited longest for a whole request ends, or the slowest transfer, of the
 * client with the most: a few clients can't keep out the others. What waits for this server stays.
 *
 * @returns to be told of each request.
 */
export function limitConnections(server: HttpServer, limits: ConnectionLimits) {
  const { connectionsMax = 2_048, leastRate = 0, clientOf = addressOf } = limits;
  server.maxConnections = connectionsMax;
  /** With the request that each has sent, or a part of it. The oldest come first. */
  const open = new Map<Socket, Exchange | undefined>();
  const seconds = setInterval(() => {
    for (const [socket, exchange] of open) if (exchange && countSecond(exchange, leastRate)) socket.destroy();
  }, 1_000).unref();
  server.once('close', () => clearInterval(seconds));
  server.on('connection', (socket: Socket) => {
    if (socket.destroyed) return;
    const ended = open.size + 1 >= connectionsMax ? (victimOf(open) ?? socket) : undefined;
    open.set(socket, undefined);
    socket.once('close', () => open.delete(socket));
    if (ended && open.delete(ended)) ended.destroy();
  });
  return (message: IncomingMessage, response: ServerResponse) => {
    const { socket } = message;
    const exchange = { message, response, client: clientOf(message), savedSeconds: firstSeconds };
    open.set(socket, { ...exchange, movedBytes: socket.bytesRead + socket.bytesWritten });
    // Its rate decides. Node's own time would end what waits for the disk.
    if (leastRate > 0) socket.setTimeout(0);
    response.once('close', () => {
      if (open.get(socket)?.response === response && open.delete(socket)) open.set(socket, undefined);
    });
  };
}

const isHalf = (exchange: Exchange | undefined) =>
  !exchange || !(exchange.message.complete || patient.has(exchange.message));
/** A half request weighs as much as so many transfers, so that it goes first unless a client has many of those. */
const halfWeight = 32;

/** The oldest half request, or slowest transfer, of the client with the most of them. */
function victimOf(open: ReadonlyMap<Socket, Exchange | undefined>): Socket | undefined {
  const loads = new Map<string, number>();
  const candidates = [...open].flatMap(([socket, exchange]) => {
    const half = isHalf(exchange);
    if (!half && exchange && !waitsForClient(exchange)) return [];
    const group = `${half} ${exchange?.client ?? addressOf({ socket })}`;
    loads.set(group, (loads.get(group) ?? 0) + (half ? halfWeight : 1));
    const { savedSeconds = 0, movedBytes = 0 } = (!half && exchange) || {};
    return [{ socket, group, savedSeconds, movedBytes }];
  });
  const loadOf = ({ group }: { group: string }) => loads.get(group) ?? 0;
  const [first, ...others] = candidates;
  return (
    first &&
    others.reduce((victim, each) => {
      const order = loadOf(each) - loadOf(victim);
      const slower = victim.savedSeconds - each.savedSeconds || victim.movedBytes - each.movedBytes;
      return (order || slower) > 0 ? each : victim;
    }, first).socket
  );
}
