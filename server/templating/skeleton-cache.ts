import { Recent } from './recent.ts';
import type { Skeleton } from './skeleton.ts';

const MAX_CHARACTERS = 16 * 1024 * 1024;
/** Of small ones there are not to be too many, either: each has much besides its text. */
const LEAST_SIZE = MAX_CHARACTERS / 256;

/**
 * Hosts that differ only in values render to the same text with holes, and parsing YAML is the dear part of rendering.
 * So parsed text is kept, by the template and the way that it went.
 */
export class SkeletonCache extends Recent<Skeleton> {
  constructor() {
    super(MAX_CHARACTERS, (way, { text }) => Math.max(way.length + text.length, LEAST_SIZE));
  }
}
