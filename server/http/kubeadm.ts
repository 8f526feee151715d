import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { KubeadmAnswer } from '../cluster/joins.ts';
import { type TarFile, tarOf } from '../cluster/tar.ts';
import { MACHINE } from './access.ts';
import { addressOf } from './address.ts';
import { credentialOf } from './agent.ts';
import type { HttpContext } from './context.ts';

const TAR = 'application/x-tar';

/** What a host does about kubeadm, with the keys that it needs for that: only over TLS, only with its own token. */
export const kubeadmRoute =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post('/agent/v1/kubeadm', { config: MACHINE }, async (request, reply) => {
      const credential = await credentialOf(context, request, ['agent']);
      const address = addressOf(request);
      await context.machines.gate.pass(credential, address, 'kubeadm configuration', { whileHeld: true });
      const { host, machine } = credential;
      const answer = await context.clusters.answer(host, { machine: machine.id, address });
      reply.header('cache-control', 'no-store');
      const wantsTar = request.headers.accept?.includes(TAR) === true;
      return wantsTar ? reply.type(TAR).send(tarOf(tarFiles(answer))) : reply.send(answer);
    });
  };

/** As `railhead-node` takes it apart. */
function tarFiles(answer: KubeadmAnswer): TarFile[] {
  const action = { path: 'action', content: `${answer.action}\n` };
  if (answer.action === 'none') return [action];
  const { before, config, files } = answer;
  return [
    action,
    { path: 'before', content: `${before}\n` },
    { path: 'config.yaml', content: config },
    ...files,
  ];
}
