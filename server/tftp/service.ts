import type { Socket } from 'node:dgram';
import { bindTftpPort } from './port.ts';

export interface TftpOptions {
  bind: string;
  port: number;
  nodeBinary: string;
}

const OPCODE_READ = 1;
const OPCODE_ERROR = 5;
const ERROR_NOT_FOUND = 1;

/**
 * Holds the TFTP port. There are no files behind it yet, so every read is told at once that the file is not there:
 * firmware then goes on to its next boot source instead of waiting for minutes.
 */
export class TftpService {
  readonly #options: TftpOptions;
  #socket: Socket | undefined;
  #note: string | undefined;

  constructor(options: TftpOptions) {
    this.#options = options;
  }

  async start(): Promise<number> {
    const { bind, port, nodeBinary } = this.#options;
    const bound = await bindTftpPort(bind, port, nodeBinary);
    this.#socket = bound.socket;
    this.#note = bound.note;
    bound.socket.on('error', () => {});
    bound.socket.on('message', (message, sender) => {
      if (message.length < 2 || message.readUInt16BE(0) !== OPCODE_READ) return;
      bound.socket.send(notFound(), sender.port, sender.address, () => {});
    });
    return bound.port;
  }

  /** Why it is not on the port that was asked for. */
  get note(): string | undefined {
    return this.#note;
  }

  stop(): void {
    this.#socket?.close();
    this.#socket = undefined;
  }
}

function notFound(): Buffer {
  return Buffer.from([0, OPCODE_ERROR, 0, ERROR_NOT_FOUND, ...Buffer.from('no such file'), 0]);
}
