import { describe, expect, it } from 'vitest';
import { problemsOf } from './make.ts';

const problems = (cluster: string): string[] =>
  problemsOf(`
clusters: [{name: lab, kubernetes: 1.36.4, ${cluster}}]
profiles: [{name: flatcar, os: flatcar}]
pools: [{name: control, cluster: lab, role: control-plane, profile: flatcar}]
hosts: [{name: n1, pool: control, macs: [52:54:00:12:34:01], disk: {serial: D}}]
`);

describe('add-ons and pipelines', () => {
  it.each([
    'addons: [{name: cilium, version: 1.20.0, repository: "oci://registry.example/charts", namespace: net}]',
    'addons: [{name: argocd, path: charts/argo, chart: argo-cd, values: {a: {fromEnv: X}}}]',
    'pipeline: {auto: false, untaint: never, steps: [untaint, {name: my-step, when: api, attempts: 1}]}',
    'pipeline: {apps: {repository: "git@git.example:apps.git", path: prod, revision: main}}',
  ])('may be %s', (cluster) => {
    expect(problems(cluster)).toEqual([]);
  });

  it.each<[cluster: string, said: RegExp]>([
    ['addons: [{name: cilium}, {name: cilium}]', /the add-on "cilium" is listed twice/],
    ['addons: [{name: cilium, path: x, repository: "https://y.example"}]', /either `path` or `repository`/],
    ['addons: [{name: celium}]', /no step installs the add-on "celium"; did you mean "cilium"\?/],
    [
      'addons: [{name: metrics-server}]',
      /no step installs .*; known: cilium, cert-manager, argocd, gateway-api/,
    ],
    ['addons: [{name: cilium, repository: "http://charts.example"}]', /an https:\/\/ or oci:\/\/ address/],
    ['addons: [{name: cilium, repository: "https://user:word@charts.example"}]', /without a password/],
    ['pipeline: {steps: [untaint, untaint]}', /the step "untaint" is listed twice/],
    ['pipeline: {steps: [../evil]}', /the name of an executable in scripts\/post-install/],
    ['pipeline: {steps: [{name: x, timeoutSeconds: 0}]}', /a number of seconds from 1 to 86400/],
    [
      'pipeline: {steps: [{name: x, values: {password: plain}}]}',
      /"password" looks like a secret in plain text/,
    ],
    ['pipeline: {untaint: sometimes}', /expected .*auto.*always.*never/],
    ['pipeline: {stepps: []}', /unknown key "stepps"; did you mean "steps"\?/],
  ])('must not be %s', (cluster, said) => {
    expect(problems(cluster).join('\n')).toMatch(said);
  });
});
