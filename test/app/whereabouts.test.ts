import { expect, it } from 'vitest';
import { Whereabouts } from '../../server/app/whereabouts.ts';
import { resolveSettings } from '../../server/resolve-settings.ts';

function where(flags: Record<string, string>): Whereabouts {
  const found = new Whereabouts(resolveSettings({ root: '/r', cwd: '/c', flags, env: {} }));
  found.choose(8081, []);
  found.ports.https = 9443;
  return found;
}

it('says addresses as URLs have them, with the ports that it got', () => {
  const v4 = where({ bind: '0.0.0.0', advertise: '10.0.0.5' });
  expect(v4.url).toBe('http://10.0.0.5:8081');
  expect(v4.httpsUrl).toBe('https://10.0.0.5:9443');
  expect(v4.localUrl).toBe('http://127.0.0.1:8081');
  expect(v4.names()).toEqual(expect.arrayContaining(['localhost', '10.0.0.5']));
  const v6 = where({ bind: 'fd00::5', advertise: 'http://[fd00::5]:8081' });
  expect(v6.httpsUrl).toBe('https://[fd00::5]:9443');
  expect(v6.localUrl).toBe('http://[fd00::5]:8081');
});

it('has no URL before it listens', () => {
  expect(new Whereabouts(resolveSettings({ root: '/r', cwd: '/c', flags: {}, env: {} })).url).toBe('');
});
