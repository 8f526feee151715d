import type { FastifyError, FastifyInstance } from 'fastify';
import { RailheadError, toRailheadError } from '../errors.ts';

/** Every failure leaves as the same JSON: a code, a message for a person, a hint. No stack traces. */
export function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const mapped = fromFastify(error) ?? { error: toRailheadError(error), status: undefined };
    const status = mapped.status ?? mapped.error.status;
    if (status >= 500) request.log.error({ err: error, url: request.url }, mapped.error.message);
    if (status === 401) reply.header('www-authenticate', 'Bearer');
    return reply.status(status).send(mapped.error.toBody());
  });
  app.setNotFoundHandler({ preHandler: [] }, (request, reply) => {
    const error = new RailheadError(
      'RH_NOT_FOUND',
      `There is nothing at ${request.method} ${request.url.split('?')[0]}.`,
    );
    return reply.status(error.status).send(error.toBody());
  });
}

/** What Fastify itself refuses (a bad body, a wrong content type, too much of it) keeps its status. */
function fromFastify(error: FastifyError): { error: RailheadError; status: number } | undefined {
  if (error instanceof RailheadError) return undefined;
  if (error.validation === undefined && !error.code?.startsWith('FST_')) return undefined;
  const status = error.statusCode ?? 500;
  if (status >= 500) return undefined;
  return { error: new RailheadError('RH_REQUEST_INVALID', error.message), status };
}
