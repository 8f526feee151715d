import { setFlagsFromString } from 'node:v8';

/**
 * Lets the part of the memory where new objects are made grow in steps of four, not of two: it ends up twice as large,
 * so a server that is asked thousands of times a second collects half as often. Measured on kept previews: 0.8 of what
 * bare Node answers, in place of 0.6; it costs some 30 MB while there is much to do.
 */
export function makeRoomForNewObjects(): void {
  setFlagsFromString('--semi-space-growth-factor=4');
}
