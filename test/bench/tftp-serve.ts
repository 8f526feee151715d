import { Folder } from '../../server/tftp/folder.ts';
import { loadSegmentationOffload } from '../../server/tftp/gso.ts';
import { DEFAULT_LIMITS } from '../../server/tftp/negotiate.ts';
import { TftpServer } from '../../server/tftp/server.ts';
import { bindSocket } from '../../server/tftp/sockets.ts';

/** Our server as a process of its own: address, port, folder, and `offload` or `plain`. */
const [address = '', port = '', folder = '', how = 'offload'] = process.argv.slice(2);
const offload = how === 'offload' ? await loadSegmentationOffload() : undefined;
const server = new TftpServer({
  socket: await bindSocket(address, Number(port)),
  bind: address,
  ports: { kind: how === 'single' ? 'single' : 'any' },
  resolvers: [new Folder(folder).resolve],
  limits: DEFAULT_LIMITS,
  // The load comes from one address.
  admission: { total: 2000, perClient: 2000 },
  offload,
  now: () => performance.now(),
  onTransferEnd: () => {},
  onRefused: () => {},
});
server.start();
process.on('SIGTERM', () => server.stop());
