import { describe, expect, it } from 'vitest';
import { EXIT, RailheadError, systemCode, toRailheadError } from '../server/errors.ts';

const systemError = (code: string): Error =>
  Object.assign(new Error(`${code}: secret path /root/x`), { code });

describe('a coded error', () => {
  it('knows its HTTP status and exit code', () => {
    const error = new RailheadError('RH_HOST_UNKNOWN', 'There is no host "n9".');
    expect({ status: error.status, exitCode: error.exitCode }).toEqual({
      status: 404,
      exitCode: EXIT.notRight,
    });
  });

  it('becomes a body with what is there, and nothing of its cause', () => {
    const plain = new RailheadError('RH_USAGE', 'No.');
    expect(plain.toBody()).toEqual({ error: { code: 'RH_USAGE', message: 'No.' } });
    const cause = new Error('a secret');
    const full = new RailheadError('RH_USAGE', 'No.', { hint: 'Do this.', details: { a: 1 }, cause });
    expect(full.toBody()).toEqual({
      error: { code: 'RH_USAGE', message: 'No.', hint: 'Do this.', details: { a: 1 } },
    });
    expect(JSON.stringify(full.toBody())).not.toContain('secret');
    expect(full.cause).toBe(cause);
    expect('cause' in plain).toBe(false);
  });

  it('has exit codes that shells can tell apart', () => {
    const codes = Object.values(EXIT);
    expect(new Set(codes).size).toBe(codes.length);
    // 126 and up belong to the shell and to signals.
    expect(codes.every((code) => code >= 0 && code < 126)).toBe(true);
  });
});

describe('whatever is thrown', () => {
  it('is left as it is when it is coded', () => {
    const error = new RailheadError('RH_USAGE', 'No.');
    expect(toRailheadError(error)).toBe(error);
  });

  it.each([
    { code: 'ENOSPC', becomes: 'RH_DISK_FULL' },
    { code: 'EDQUOT', becomes: 'RH_DISK_FULL' },
    { code: 'SQLITE_FULL', becomes: 'RH_DISK_FULL' },
    { code: 'SQLITE_CORRUPT', becomes: 'RH_STORE_CORRUPT' },
    { code: 'SQLITE_NOTADB', becomes: 'RH_STORE_CORRUPT' },
  ])('is known by its code: $code becomes $becomes', ({ code, becomes }) => {
    const cause = systemError(code);
    const error = toRailheadError(cause);
    expect({ code: error.code, exitCode: error.exitCode }).toEqual({
      code: becomes,
      exitCode: EXIT.environment,
    });
    expect(error.hint).toBeDefined();
    expect(error.cause).toBe(cause);
  });

  it.each([
    { what: 'a bug', thrown: new TypeError('x of undefined, token=abc') },
    { what: 'text', thrown: 'token=abc' },
    { what: 'nothing', thrown: undefined },
    { what: 'null', thrown: null },
    { what: 'a number for a code', thrown: { code: 5 } },
  ])('is an internal error that tells nothing of itself: $what', ({ thrown }) => {
    const error = toRailheadError(thrown);
    expect({ code: error.code, status: error.status, exitCode: error.exitCode }).toEqual({
      code: 'RH_INTERNAL',
      status: 500,
      exitCode: EXIT.internal,
    });
    expect(JSON.stringify(error.toBody())).not.toContain('token');
    expect(error.cause).toBe(thrown);
  });
});

it.each([
  { thrown: systemError('EACCES'), code: 'EACCES' },
  { thrown: new Error('no code'), code: undefined },
  { thrown: { code: 5 }, code: undefined },
  { thrown: null, code: undefined },
  { thrown: undefined, code: undefined },
])('the system code of $thrown is $code', ({ thrown, code }) => {
  expect(systemCode(thrown)).toBe(code);
});
