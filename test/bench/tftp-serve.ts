import { Folder } from '../../server/tftp/folder.ts';
import { loadNativeSender } from '../../server/tftp/native.ts';
import { DEFAULT_LIMITS } from '../../server/tftp/negotiate.ts';
import { TftpServer } from '../../server/tftp/server.ts';
import { bindSocket } from '../../server/tftp/sockets.ts';

/** Our server as a process of its own: address, port, folder, and `native` or `plain`. */
const [address = '', port = '', folder = '', how = 'native'] = process.argv.slice(2);
const server = new TftpServer({
  socket: await bindSocket(address, Number(port)),
  bind: address,
  ports: { kind: how === 'single' ? 'single' : 'any' },
  resolvers: [new Folder(folder).resolve],
  limits: DEFAULT_LIMITS,
  // The load comes from one address.
  admission: { total: 2000, perClient: 2000 },
  native: how === 'plain' ? undefined : await loadNativeSender(),
  now: () => performance.now(),
  onTransferEnd: () => {},
  onRefused: () => {},
});
server.start();
process.on('SIGTERM', () => server.stop());
