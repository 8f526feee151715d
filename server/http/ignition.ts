import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply } from 'fastify';
import Type from 'typebox';
import { formatProblem } from '../document/problem.ts';
import { RailheadError } from '../errors.ts';
import type { Written } from '../ignition/compose.ts';
import { fileIn } from '../ignition/config-file.ts';
import type { Purpose } from '../ignition/delivery.ts';
import { pointerConfig } from '../ignition/pointer.ts';
import type { Format } from '../ignition/preview-cache.ts';
import type { InventoryNow } from '../ignition/renderer.ts';
import { toBuffer } from '../ignition/sheet.ts';
import { InventoryIndex } from '../inventory/index.ts';
import type { HostSpec } from '../inventory/model.ts';
import { loadRevision } from '../inventory/revision.ts';
import type { Attempt } from '../machine/attempts.ts';
import { shortId } from '../machine/attempts.ts';
import { bearerOf } from '../machine/credentials.ts';
import { findHost } from '../machine/describe-host.ts';
import { assertAdmin, MACHINE, PUBLIC } from './access.ts';
import { addressOf } from './address.ts';
import type { HttpContext } from './context.ts';

export const IGNITION_TYPE = 'application/vnd.coreos.ignition+json';

const Token = Type.Object({ token: Type.String({ minLength: 22, maxLength: 22 }) });

/** Where the kernel's URL leads: plain HTTP, because Ignition can't be given a CA for it. */
export const pointerRoute =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/boot/:token/pointer.ign',
      { config: PUBLIC, schema: { params: Token } },
      async (request, reply) => {
        const { token } = request.params;
        const found = await context.boot.attemptOf(token);
        if (found === undefined) {
          context.machines.gate.refuseUnknown(addressOf(request), 'pointer');
          throw new RailheadError(
            'RH_TOKEN_UNKNOWN',
            'This boot is over, or never was: the machine must boot anew.',
          );
        }
        const { attempt, host } = found;
        context.machines.gate.assertFresh(
          { kind: 'attempt', token, ...found },
          addressOf(request),
          'pointer',
        );
        // Ignition gives this URL two minutes in all: what takes longer is waited for at the other one.
        const hash = await context.delivery.freeze(requestOf(attempt, host, token));
        // Asking what is there changes nothing.
        if (request.method === 'GET') await context.boot.reach(attempt.id, host, 'pointer-sent');
        const about = { host: host.name, attempt: shortId(attempt.id) };
        context.tlsWatch.expect(addressOf(request), about);
        const url = `${context.httpsUrl()}/boot/${token}/config.ign`;
        return reply
          .type(IGNITION_TYPE)
          .header('cache-control', 'no-store')
          .send(pointerConfig({ url, token, authority: context.authorityPem, hash }));
      },
    );
  };

/** The real configuration: only over TLS, and only to who shows the token in the header, too. */
export const configRoute =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/boot/:token/config.ign',
      { config: MACHINE, schema: { params: Token } },
      async (request, reply) => {
        const { token } = request.params;
        const address = addressOf(request);
        const credential =
          bearerOf(request.headers.authorization) === token
            ? await context.machines.credentials.find(token, ['attempt', 'first-boot'])
            : undefined;
        if (credential === undefined) throw context.machines.gate.refuseUnknown(address, 'configuration');
        await context.machines.gate.pass(credential, address, 'configuration');
        const { attempt, host, kind } = credential;
        const body =
          kind === 'attempt'
            ? await context.delivery.frozen(requestOf(attempt, host, token))
            : await context.delivery.current({ host, token, purpose: 'system', wipe: false });
        if (request.method === 'GET')
          await context.boot.reach(attempt.id, host, 'config-sent', { bytes: body.length, of: body.length });
        return reply.type(IGNITION_TYPE).header('cache-control', 'no-store').send(body);
      },
    );
  };

const PreviewQuery = Type.Object({
  purpose: Type.Optional(Type.Enum(['system', 'installer'])),
  format: Type.Optional(Type.Enum(['ignition', 'butane'])),
  /** With its secrets. */
  reveal: Type.Optional(Type.String()),
  /** Of this revision of the inventory, by its hash or the beginning of it. */
  revision: Type.Optional(Type.String({ pattern: '^[0-9a-f]{4,64}$' })),
  /** Only what one file would have in it. */
  file: Type.Optional(Type.String({ maxLength: 4096 })),
});

/** Of one that has no secrets in it. */
export const PREVIEW_HEADERS = {
  'content-type': IGNITION_TYPE,
  'cache-control': 'no-store',
  'x-railhead-redacted': 'yes',
};

/** A machine that was given the URL of a preview would be configured with markers. */
export function isMachine(headers: IncomingHttpHeaders): boolean {
  return /^Ignition\//.test(headers['user-agent'] ?? '');
}

/** What a host would be configured with, for people: every secret is a marker. See also `preview-shortcut.ts`. */
export const previewRoute =
  (context: HttpContext, options: { secure: boolean }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const Params = Type.Object({ host: Type.String({ maxLength: 253 }) });
    const schema = { params: Params, querystring: PreviewQuery };
    app.get('/ignition/:host', { config: PUBLIC, schema }, async (request, reply) => {
      if (isMachine(request.headers)) {
        throw new RailheadError(
          'RH_FORBIDDEN',
          'This is a preview for people; machines use the URL of their menu.',
        );
      }
      const from = await inventoryAt(context, request.query.revision);
      const host = findHost(from.index, request.params.host);
      const { reveal, file, purpose = await purposeOf(context, host) } = request.query;
      const format = file === undefined ? (request.query.format ?? 'ignition') : 'ignition';
      reply
        .header('cache-control', 'no-store')
        .header('x-railhead-redacted', reveal === undefined ? 'yes' : 'no');
      if (reveal === undefined) {
        const preview = await context.renderer.preview(host, purpose, { format, from });
        return answerPreview(reply, host, preview, { format, file });
      }
      // Everything, for who may change everything; and it is written down.
      await assertAdmin(request, context, options);
      const address = addressOf(request);
      await context.events.append({ kind: 'ignition.revealed', host: host.name, data: { address } });
      const revealed = await context.renderer.reveal(host, purpose, format);
      return answerPreview(reply, host, revealed, { format, file });
    });
  };

function answerPreview(
  reply: FastifyReply,
  host: HostSpec,
  preview: Written,
  { format, file }: { format: Format; file: string | undefined },
) {
  if ('problems' in preview) throw cannotRender(host, preview.problems.map(formatProblem));
  if (file !== undefined) {
    const content = fileIn(JSON.parse(toBuffer(preview).toString()), file);
    if (content === undefined) {
      throw new RailheadError('RH_NOT_FOUND', `The configuration of ${host.name} has no file ${file}.`);
    }
    return reply.type('text/plain; charset=utf-8').send(content);
  }
  return reply
    .type(format === 'butane' ? 'text/plain; charset=utf-8' : IGNITION_TYPE)
    .send(toBuffer(preview));
}

async function inventoryAt(context: HttpContext, revision: string | undefined): Promise<InventoryNow> {
  if (revision === undefined) return context.inventory;
  const { hash, inventory } = await loadRevision(context.store.db, revision);
  return { revision: hash, index: new InventoryIndex(inventory) };
}

/** What it boots with next: an installer, as long as it is not installed. */
async function purposeOf(context: HttpContext, host: HostSpec): Promise<Purpose> {
  if (host.os.install === 'ram') return 'system';
  return (await context.boot.decide(host)).action === 'local' ? 'system' : 'installer';
}

function cannotRender(host: HostSpec, problems: readonly string[]): RailheadError {
  return new RailheadError(
    'RH_CONFIG_UNAVAILABLE',
    `The configuration of ${host.name} can't be made:\n${problems.join('\n')}`,
  );
}

function requestOf(attempt: Attempt, host: HostSpec, token: string) {
  const purpose: Purpose = attempt.offer.action === 'install' ? 'installer' : 'system';
  return { attempt: attempt.id, host, token, purpose, wipe: attempt.offer.wipe };
}
