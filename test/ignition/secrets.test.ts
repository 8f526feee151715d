import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { secretReader } from '../../server/ignition/secret-reader.ts';
import { withSecrets } from '../../server/ignition/secrets.ts';
import { tempFolder } from '../support/temp.ts';

const VARIABLES = {
  plain: 'text',
  password: { fromFile: 'db.txt' },
  nested: { deep: { token: { fromEnv: 'TOKEN' } } },
  list: [1, { fromFile: 'a' }, [{ fromEnv: 'B' }]],
  nothing: null,
};

it('without a reader every secret is a marker that says which one it is', () => {
  expect(withSecrets(VARIABLES, undefined, 'variables')).toEqual({
    plain: 'text',
    password: '<secret: variables.password>',
    nested: { deep: { token: '<secret: variables.nested.deep.token>' } },
    list: [1, '<secret: variables.list.1>', ['<secret: variables.list.2.0>']],
    nothing: null,
  });
});

it('with one they are what it finds, and everything else is as it was', () => {
  expect(withSecrets(VARIABLES, (reference) => JSON.stringify(reference), 'variables')).toMatchObject({
    plain: 'text',
    password: '{"fromFile":"db.txt"}',
    nested: { deep: { token: '{"fromEnv":"TOKEN"}' } },
  });
});

it.each([{ fromFile: 'a', fromEnv: 'B' }, { fromFile: 1 }, { fromfile: 'a' }, {}])(
  '%j is no reference, only a value',
  (value) => {
    expect(withSecrets({ value }, () => 'secret', 'variables')).toEqual({ value });
  },
);

it('a variable may be called __proto__', () => {
  const variables = JSON.parse('{"__proto__": {"fromEnv": "A"}}');
  expect(JSON.stringify(withSecrets(variables, () => 'found', 'v'))).toBe('{"__proto__":"found"}');
});

it('finds them beside the inventory, without the line end that editors add, and in the environment', async () => {
  const dir = await tempFolder();
  await writeFile(join(dir, 'db.txt'), 'two\nlines\r\n');
  const read = secretReader(dir, { TOKEN: 'from env', EMPTY: '' });
  expect(read({ fromFile: 'db.txt' })).toBe('two\nlines');
  expect(read({ fromEnv: 'TOKEN' })).toBe('from env');
  expect(read({ fromEnv: 'EMPTY' })).toBe('');
});

it('one that is not there is said by its name, with what to do', async () => {
  const read = secretReader(await tempFolder(), {});
  expect(() => read({ fromFile: 'nope.txt' })).toThrow(
    expect.objectContaining({ code: 'RH_SECRET_MISSING', message: expect.stringContaining('nope.txt') }),
  );
  expect(() => read({ fromEnv: 'NOPE' })).toThrow(
    expect.objectContaining({ code: 'RH_SECRET_MISSING', message: expect.stringContaining('NOPE') }),
  );
});
