// What the server's Node is started with, wherever something starts one. package.json and the Dockerfile have it, too.

/**
 * Room for new objects from the start, where Node would let it grow bit by bit: kept previews come at 0.8 of what bare
 * Node answers with it, and at 0.6 without it (docs/decisions/0012).
 */
export const NODE_FLAGS = ['--min-semi-space-size=16'];
