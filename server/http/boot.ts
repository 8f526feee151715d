import { join } from 'node:path';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { RailheadError, toRailheadError } from '../errors.ts';
import type { HostSpec } from '../inventory/model.ts';
import type { Attempt } from '../machine/attempts.ts';
import type { Stage } from '../machine/stages.ts';
import { INITRD, KERNEL } from '../netboot/images.ts';
import { ipxeStart } from '../netboot/ipxe-start.ts';
import { PUBLIC } from './access.ts';
import { addressOf } from './address.ts';
import type { HttpContext } from './context.ts';

const ClaimQuery = Type.Object({
  mac: Type.Optional(Type.String({ maxLength: 64 })),
  uuid: Type.Optional(Type.String({ maxLength: 64 })),
  serial: Type.Optional(Type.String({ maxLength: 128 })),
  vendor: Type.Optional(Type.String({ maxLength: 128 })),
});
const Token = Type.Object({ token: Type.String({ minLength: 22, maxLength: 22 }) });

/**
 * What boot loaders fetch: menus by who they say they are, everything after that by the token in the menu. Plain HTTP
 * on purpose: boot loaders speak nothing else, so nothing here is secret.
 */
export const bootRoutes =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { boot } = context;
    const menuRoutes = { '/boot.ipxe': 'ipxe', '/boot.grub': 'grub' } as const;
    for (const [path, kind] of Object.entries(menuRoutes)) {
      app.get(path, { config: PUBLIC, schema: { querystring: ClaimQuery } }, async (request, reply) => {
        const claim = {
          ...bootifOf(request.headers.cookie),
          ...request.query,
          address: addressOf(request),
        };
        reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store');
        // As DHCP sends it here: without a word about itself.
        const isMute = Object.keys(request.query).length === 0 && claim.mac === undefined;
        if (kind === 'ipxe' && isMute) return reply.send(ipxeStart(context.advertise().url));
        return reply.send((await boot.menu(kind, claim)).body);
      });
    }

    // For firmware that fetches its loader by HTTP (UEFI HTTP Boot); an iPXE from here looks for its script beside it.
    app.get('/loaders/*', { config: PUBLIC }, async (request, reply) => {
      const { '*': path = '' } = request.params as { '*'?: string };
      if (path === 'autoexec.ipxe')
        return reply.type('text/plain; charset=utf-8').send(ipxeStart(context.advertise().url));
      if (path.split('/').some((part) => part.startsWith('.'))) {
        throw new RailheadError('RH_NOT_FOUND', `There is no boot loader ${path}.`);
      }
      // Firmware looks at the size first, with HEAD.
      if (request.method === 'GET') boot.noteLoader(addressOf(request), path);
      return context.files.send(request, reply, { root: context.bootDir, path });
    });

    const attemptOf = async (token: string) => {
      const found = await boot.attemptOf(token);
      if (found !== undefined) return found;
      throw new RailheadError(
        'RH_TOKEN_UNKNOWN',
        'This boot is over, or never was: the machine must boot anew.',
      );
    };

    /** One file of the image that was offered, exactly as it was offered: never half, never another. */
    const sendImage = async (
      request: FastifyRequest,
      reply: FastifyReply,
      { attempt, host }: { attempt: Attempt; host: HostSpec },
      { name, size, stage }: { name: string; size: number; stage: Stage },
    ): Promise<void> => {
      const file = { root: context.assetsDir, path: join(attempt.offer.image, name) };
      const counter = context.progress.begin(host.name, name);
      try {
        await context.files.send(request, reply, file, {
          mustBe: { size },
          onSize: counter.onSize,
          onBytes: counter.onBytes,
          onEnd: (whole) => {
            counter.onEnd(whole);
            const details = { bytes: counter.bytes, of: size };
            if (whole) void boot.reach(attempt.id, host, stage, details).catch(() => {});
          },
        });
      } catch (error) {
        boot.noteRefusedImage(host, name, toRailheadError(error).message);
        throw error;
      }
    };

    app.get('/boot/:token/kernel', { config: PUBLIC, schema: { params: Token } }, async (request, reply) => {
      const found = await attemptOf(request.params.token);
      if (request.method === 'GET') {
        const from = context.machines.asker(found.host, addressOf(request));
        await boot.attempts.open(found.attempt.id, found.host, from);
      }
      const { kernel: size } = found.attempt.offer.sizes;
      return sendImage(request, reply, found, { name: KERNEL, size, stage: 'kernel-sent' });
    });

    const Initrd = Type.Object({ token: Token.properties.token, file: Type.Literal(INITRD) });
    app.get(
      '/boot/:token/initrd/:file',
      { config: PUBLIC, schema: { params: Initrd } },
      async (request, reply) => {
        const found = await attemptOf(request.params.token);
        const { initrd: size } = found.attempt.offer.sizes;
        return sendImage(request, reply, found, { name: INITRD, size, stage: 'initrd-sent' });
      },
    );
  };

/** Syslinux tells which card it booted from in a cookie, when it asks over HTTP. */
function bootifOf(cookie: string | undefined): { mac?: string } {
  const mac = /_Syslinux_BOOTIF=01-([0-9a-f-]{17})/i.exec(cookie ?? '')?.[1];
  return mac === undefined ? {} : { mac };
}
