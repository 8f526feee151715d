import { describe, expect, it } from 'vitest';
import { layersOf } from '../../server/ignition/compose.ts';
import { hostOf } from '../inventory/make.ts';
import { compose, faultsOf, filesButane, HEAD, textIn } from './make.ts';

describe('which layers a host has', () => {
  const layers = (text: string, purpose: 'system' | 'installer' = 'system') =>
    layersOf(hostOf(text, 'n1'), purpose);
  const host = (more: string) => `
clusters: [{name: lab, kubernetes: 1.36.4, snippets: [of-cluster.bu]}]
profiles: [{name: flatcar, os: flatcar, snippets: [of-profile.bu]}]
pools: [{name: control, cluster: lab, role: control-plane, profile: flatcar, snippets: [of-pool.bu]}]
hosts: [{name: n1, pool: control, macs: [52:54:00:12:34:01], snippets: [of-host.bu]${more}}]`;
  const snippets = ['of-cluster', 'of-profile', 'of-pool', 'of-host'].map((name) => `snippets/${name}.bu`);

  it('base, what members have, what a disk brings; then snippets from the widest to the host', () => {
    expect(layers(host(''))).toEqual(['ignition/base.bu', 'ignition/kubernetes.bu', ...snippets]);
    expect(layers(host(', disk: /dev/disk/by-id/x'))).toEqual([
      'ignition/base.bu',
      'ignition/kubernetes.bu',
      'ignition/ram.bu',
      ...snippets,
    ]);
    const alone = host('').replace('cluster: lab, role: control-plane, ', '');
    expect(layers(alone)).toEqual(['ignition/base.bu', ...snippets.slice(1)]);
  });

  it("a profile's own template takes the place of all built-in ones; an installer has nothing but itself", () => {
    const own = host('').replace('os: flatcar,', 'os: flatcar, templates: {ignition: mine.bu},');
    expect(layers(own)).toEqual(['ignition/mine.bu', ...snippets]);
    expect(layers(own.replace('mine.bu', 'mine'))).toEqual(['ignition/mine.bu', ...snippets]);
    const toDisk = host(', disk: /dev/disk/by-id/x').replace('os: flatcar,', 'os: flatcar, install: disk,');
    expect(layers(toDisk, 'installer')).toEqual(['ignition/installer.bu']);
    expect(layers(toDisk)).not.toContain('ignition/ram.bu');
  });
});

it('later layers win: file by file, field by field, in the order that they are named', () => {
  const composed = compose({
    'a.bu': filesButane({ '/etc/a': 'from a', '/etc/both': 'from a' }),
    'b.bu': filesButane({ '/etc/both': 'from b', '/etc/b': 'from b' }),
    'c.bu': `${HEAD}storage:\n  files:\n    - {path: /etc/both, mode: 0600}\n`,
  });
  expect(textIn(composed, '/etc/a')).toBe('from a');
  expect(textIn(composed, '/etc/both')).toBe('from b');
  expect(composed).toMatchObject({
    config: {
      storage: { files: [{ path: '/etc/a' }, { path: '/etc/both', mode: 0o600 }, { path: '/etc/b' }] },
    },
    layers: [{ template: 'a.bu' }, { template: 'b.bu' }, { template: 'c.bu' }],
  });
});

it('drop-ins of one unit in several layers are all kept', () => {
  const dropin = (name: string) =>
    `${HEAD}systemd:\n  units:\n    - name: a.service\n      dropins: [{name: ${name}, contents: "[Unit]\\n"}]\n`;
  const composed = compose({ 'a.bu': dropin('10-a.conf'), 'b.bu': dropin('20-b.conf') });
  expect(composed).toMatchObject({
    config: { systemd: { units: [{ dropins: [{ name: '10-a.conf' }, { name: '20-b.conf' }] }] } },
  });
});

it('a layer that is not there: the nearest name is offered', () => {
  const templates = { 'snippets/motd.bu': filesButane({ '/etc/motd': 'hi' }) };
  expect(faultsOf(compose(templates, { layers: ['snippets/modt.bu'] }))).toEqual([
    'snippets/modt.bu: error: there is no template "snippets/modt.bu"; did you mean "snippets/motd.bu"?',
  ]);
  expect(faultsOf(compose(templates, { layers: ['snippets/../snippets/motd.bu'] }))).toHaveLength(1);
});

it('all layers are judged, and what is wrong is told with the place in the file', () => {
  const faults = faultsOf(
    compose({
      'a.bu': `${HEAD}storage:\n  files:\n    - path: relative\n`,
      'b.bu': `${HEAD}storage:\n  flies: []\n`,
      'c.bu': `${HEAD}# {{nobody}}\nstorage: {{nothing}}\n`,
    }),
  );
  expect(faults).toEqual([
    expect.stringMatching(/^a\.bu:5:\d+: error: .*path/),
    expect.stringMatching(/^b\.bu:4:\d+: error: .*"files"/),
    expect.stringMatching(/^c\.bu:3:\d+: error: unknown name "nobody"/),
  ]);
});

it.each([
  [
    'a file that goes through a link of another',
    `${HEAD}storage:\n  links:\n    - {path: /etc/thing, target: /opt}\n`,
    filesButane({ '/etc/thing/below': 'x' }),
  ],
  [
    'a file that is a unit of another',
    `${HEAD}systemd:\n  units:\n    - {name: a.service, contents: "[Service]\\nExecStart=/bin/true\\n"}\n`,
    filesButane({ '/etc/systemd/system/a.service': 'x' }),
  ],
])('each layer is right, together they are not: %s', (_what, a, b) => {
  expect(faultsOf(compose({ 'a.bu': a }))).toEqual([]);
  expect(faultsOf(compose({ 'b.bu': b }))).toEqual([]);
  expect(faultsOf(compose({ 'a.bu': a, 'b.bu': b }))).toEqual([
    expect.stringMatching(/^a\.bu \+ b\.bu: error: \$\.storage\.files\.0/),
  ]);
});

it('a link in one layer takes the place of a file in one before', () => {
  const composed = compose({
    'a.bu': filesButane({ '/etc/thing': 'a file' }),
    'b.bu': `${HEAD}storage:\n  links:\n    - {path: /etc/thing, target: /dev/null}\n`,
  });
  expect(composed).toMatchObject({ config: { storage: { links: [{ path: '/etc/thing' }] } } });
});

it.each(['a\nExecStart=/bin/evil', 'a\u2028b', 'tab\there'])(
  'a value in the text of a unit can not bring a line of its own: %j',
  (name) => {
    const unit = (contents: string) => `variant: flatcar
version: 1.0.0
systemd:
  units:
    - name: a.service
      contents: ${contents}
`;
    const text = unit('"[Unit]\\nDescription={{name}}\\n[Service]\\nExecStart=/bin/true\\n"');
    const within = compose({ 'a.bu': text }, { values: { name } });
    expect(faultsOf(within)).toEqual([
      expect.stringMatching(/^a\.bu:6:\d+: error: a value in this unit has a line break/),
    ]);
  },
);
