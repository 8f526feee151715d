import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { NODE_FLAGS } from '../../scripts/lib/node-flags.mjs';

const read = (file: string): string => readFileSync(join(import.meta.dirname, '..', '..', file), 'utf8');

it('`npm start` and the image start the server with the same flags as the launcher', () => {
  expect(JSON.parse(read('package.json')).scripts.start).toContain(
    ` node ${NODE_FLAGS.join(' ')} scripts/railhead.mjs `,
  );
  const entry = ['node', ...NODE_FLAGS, 'scripts/railhead.mjs'].map((word) => `"${word}"`).join(', ');
  expect(read('Dockerfile')).toContain(`ENTRYPOINT [${entry}]`);
});
