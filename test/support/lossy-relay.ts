import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { seeded } from '../../server/simulation/random.ts';
import type { Address } from './tftp-server.ts';

export interface LinkOptions {
  /** How much of what is sent never arrives, in each direction: 0.01 is one in a hundred. */
  loss?: number;
  /** How much of it arrives twice. */
  doubled?: number;
  /** How long everything takes, in each direction: a round trip takes twice as long. */
  delayMs?: number;
  /** Some of it takes up to this much longer, and is overtaken. */
  jitterMs?: number;
  /** The fate of the n-th packet of a client, in either direction, depends on this alone. */
  seed?: number;
}

/** What has passed in one direction. */
export interface Traffic {
  packets: number;
  dropped: number;
  /** Came to the relay more than once: the same block or acknowledgement, sent again. */
  repeated: number;
}

/** For what was sent before and is not read yet. */
const LINGER_MS = 100;

type Direction = 'toServer' | 'toClient';

/** One client: a socket towards the server, and one towards the client for each port that the server answers from. */
interface Flow {
  client: Address;
  upstream: Socket;
  /** By the server's port. */
  downstream: Map<number, Promise<Socket>>;
  fate: Record<Direction, () => number>;
  recent: Record<Direction, Recent>;
}

/**
 * A bad link, as a UDP relay in user space (a kernel may lack netem). A client that asks the relay's port sees a server
 * that answers from a new port, as TFTP servers do; the server sees one client port for each client.
 */
export class LossyRelay implements Address {
  readonly address: string;
  readonly port: number;
  readonly toServer: Traffic = { packets: 0, dropped: 0, repeated: 0 };
  readonly toClient: Traffic = { packets: 0, dropped: 0, repeated: 0 };
  readonly #server: Address;
  readonly #link: Required<LinkOptions>;
  readonly #listening: Socket;
  readonly #flows = new Map<string, Promise<Flow>>();
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #closed = false;

  static async start(server: Address, link: LinkOptions = {}): Promise<LossyRelay> {
    const socket = createSocket('udp4');
    await bind(socket, '127.0.0.1');
    return new LossyRelay(server, link, socket);
  }

  private constructor(server: Address, link: LinkOptions, listening: Socket) {
    this.#server = server;
    this.#link = { loss: 0, doubled: 0, delayMs: 0, jitterMs: 0, seed: 1, ...link };
    this.#listening = listening;
    this.#sockets.add(listening);
    ({ address: this.address, port: this.port } = listening.address());
    listening.on('message', (bytes, client) => {
      void this.#flow(client).then((flow) => {
        this.#carry(flow, 'toServer', bytes, flow.upstream, { ...server });
      });
    });
  }

  /**
   * In a moment: the last acknowledgement still gets through. Without it the server would send the end of the file for
   * another 20 s, to a port that somebody else may have by then.
   */
  close(): void {
    const { delayMs, jitterMs } = this.#link;
    setTimeout(() => this.#close(), delayMs + jitterMs + LINGER_MS);
  }

  #close(): void {
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const socket of this.#sockets) socket.close();
    this.#sockets.clear();
  }

  #flow(client: RemoteInfo): Promise<Flow> {
    const key = `${client.address} ${client.port}`;
    let flow = this.#flows.get(key);
    if (flow === undefined) {
      flow = this.#open({ address: client.address, port: client.port }, this.#flows.size);
      this.#flows.set(key, flow);
    }
    return flow;
  }

  async #open(client: Address, index: number): Promise<Flow> {
    const upstream = await this.#socket();
    const seed = this.#link.seed * 1000 + index * 2;
    const flow: Flow = {
      client,
      upstream,
      downstream: new Map([[this.#server.port, Promise.resolve(this.#listening)]]),
      fate: { toServer: seeded(seed), toClient: seeded(seed + 1) },
      recent: { toServer: new Recent(), toClient: new Recent() },
    };
    upstream.on('message', (bytes, { port }) => {
      void this.#downstream(flow, port).then((socket) => {
        this.#carry(flow, 'toClient', bytes, socket, client);
      });
    });
    return flow;
  }

  /** The socket that stands for one of the server's ports. */
  #downstream(flow: Flow, serverPort: number): Promise<Socket> {
    let socket = flow.downstream.get(serverPort);
    if (socket === undefined) {
      socket = this.#socket();
      flow.downstream.set(serverPort, socket);
      void socket.then((opened) =>
        opened.on('message', (bytes, sender) => {
          // Somebody else's packets go through a socket of their own, so that the server sees that they are.
          const isClient = sender.port === flow.client.port && sender.address === flow.client.address;
          const from = isClient ? Promise.resolve(flow) : this.#flow(sender);
          const to = { address: this.#server.address, port: serverPort };
          void from.then((its) => this.#carry(its, 'toServer', bytes, its.upstream, to));
        }),
      );
    }
    return socket;
  }

  #carry(flow: Flow, direction: Direction, bytes: Buffer, from: Socket, to: Address): void {
    const { loss, doubled, delayMs, jitterMs } = this.#link;
    const traffic = this[direction];
    traffic.packets++;
    if (flow.recent[direction].has(bytes)) traffic.repeated++;
    // Always the same number of draws, so that one packet's fate doesn't change the next one's.
    const [lost, twice, late] = [
      flow.fate[direction](),
      flow.fate[direction](),
      flow.fate[direction](),
    ] as const;
    if (lost < loss) {
      traffic.dropped++;
      return;
    }
    for (let copies = twice < doubled ? 2 : 1; copies > 0; copies--) {
      this.#later(Math.round(delayMs + late * jitterMs), () => from.send(bytes, to.port, to.address, ignore));
    }
  }

  #later(milliseconds: number, send: () => void): void {
    if (this.#closed) return;
    if (milliseconds === 0) return send();
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      send();
    }, milliseconds);
    this.#timers.add(timer);
  }

  async #socket(): Promise<Socket> {
    const socket = createSocket('udp4');
    this.#sockets.add(socket);
    await bind(socket, '127.0.0.1');
    return socket;
  }
}

/** The last few packets, by their opcode and block number. Far fewer than there are block numbers. */
class Recent {
  readonly #keys = new Set<number>();

  has(bytes: Buffer): boolean {
    const key = bytes.length < 4 ? -1 : bytes.readUInt32BE(0);
    if (this.#keys.has(key)) return true;
    this.#keys.add(key);
    if (this.#keys.size > 1000) this.#keys.delete(this.#keys.values().next().value!);
    return false;
  }
}

function bind(socket: Socket, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(0, address, () => resolve());
  });
}

function ignore(): void {}
