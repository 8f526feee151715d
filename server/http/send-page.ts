import type { FastifyReply } from 'fastify';

/** A page for people: no inline script runs in it, nothing comes from elsewhere, and it is never kept. */
export function sendPage(reply: FastifyReply, page: string): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', "default-src 'self'; img-src data:; frame-ancestors 'none'")
    .header('cache-control', 'no-store')
    .send(page);
}
