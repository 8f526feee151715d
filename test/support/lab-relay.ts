import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { connect, createServer as createSocketServer, type Server as SocketServer } from 'node:net';

/** Sees what a machine is answered, and says what it gets instead. */
export type Tamper = (answer: string, path: string) => string | Promise<string>;

/** Somebody on the way between machines and the server. Listens at one socket, and asks at the other. */
export async function startTamperingRelay(at: string, target: string, tamper: Tamper): Promise<Server> {
  const server = createServer(async (incoming, outgoing) => {
    try {
      const { status, text } = await passOn(incoming, target);
      outgoing.writeHead(status).end(await tamper(text, incoming.url ?? ''));
    } catch {
      outgoing.destroy();
    }
  });
  return listening(server, at);
}

/** Passes on everything that comes to a socket. */
export function startForward(at: string, to: { host: string; port: number }): Promise<SocketServer> {
  const server = createSocketServer((near) => {
    const far = connect(to);
    const end = (): void => {
      near.destroy();
      far.destroy();
    };
    near.on('error', end);
    far.on('error', end);
    near.pipe(far).pipe(near);
  });
  return listening(server, at);
}

function listening<S extends SocketServer>(server: S, at: string): Promise<S> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(at, () => resolve(server));
  });
}

function passOn(incoming: IncomingMessage, target: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const { url: path, method, headers } = incoming;
    const passed = request({ socketPath: target, agent: false, path, method, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      answer.on('error', reject);
      answer.on('end', () => resolve({ status: answer.statusCode ?? 502, text }));
    });
    passed.on('error', reject);
    incoming.pipe(passed);
  });
}
