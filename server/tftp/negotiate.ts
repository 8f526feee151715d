import type { Options } from './codec.ts';

/** How a file is sent to one client. */
export interface Terms {
  blockSize: number;
  windowSize: number;
  /** The client's own time-out in seconds, if it told. */
  timeoutSeconds?: number;
}

export interface Limits {
  /** Blocks that don't fit a frame are cut up by IP, and one lost piece loses them whole. */
  maxBlockSize: number;
  maxWindowSize: number;
}

export const DEFAULT_TERMS: Terms = { blockSize: 512, windowSize: 1 };

/** 1468 + 4 (TFTP) + 8 (UDP) + 20 (IP) = 1500, Ethernet's usual frame. */
export const DEFAULT_LIMITS: Limits = { maxBlockSize: 1468, maxWindowSize: 64 };

/**
 * What the client asked for and what it gets (RFC 2347: an option that is not understood, or whose value makes no
 * sense, is left out of the answer, and the transfer goes on without it). No options: no OACK at all.
 */
export function negotiate(
  asked: Options,
  size: number,
  limits: Limits,
): { terms: Terms; accepted: Options | undefined } {
  const terms: Terms = { ...DEFAULT_TERMS };
  const accepted: Record<string, string> = {};
  for (const [name, value] of Object.entries(asked)) {
    const number = /^\d{1,9}$/.test(value) ? Number(value) : undefined;
    if (number === undefined) continue;
    switch (name) {
      case 'blksize': // RFC 2348
        if (number < 8 || number > 65464) break;
        terms.blockSize = Math.min(number, limits.maxBlockSize);
        accepted[name] = String(terms.blockSize);
        break;
      case 'windowsize': // RFC 7440
        if (number < 1 || number > 65535) break;
        terms.windowSize = Math.min(number, limits.maxWindowSize);
        accepted[name] = String(terms.windowSize);
        break;
      case 'timeout': // RFC 2349: taken as it is, or not at all
        if (number < 1 || number > 255) break;
        terms.timeoutSeconds = number;
        accepted[name] = value;
        break;
      case 'tsize': // RFC 2349: a question; the answer is the size
        accepted[name] = String(size);
        break;
    }
  }
  return { terms, accepted: Object.keys(accepted).length === 0 ? undefined : accepted };
}
