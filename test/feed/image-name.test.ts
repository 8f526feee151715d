import { describe, expect, it } from 'vitest';
import { assertImageId, fileOf, parseFile, parseFileOf } from '../../server/feed/image-name.ts';

describe('the name of an image says what it is', () => {
  it.each([
    ['kubernetes-v1.33.2-x86-64.raw', { name: 'kubernetes', version: 'v1.33.2', arch: 'x86-64' }],
    ['containerd-2.0.4-arm64.raw', { name: 'containerd', version: '2.0.4', arch: 'arm64' }],
    ['docker-compose-2.30.0-x86-64.raw', { name: 'docker-compose', version: '2.30.0', arch: 'x86-64' }],
    ['k3s-v1.33.1+k3s1-arm64.raw', { name: 'k3s', version: 'v1.33.1+k3s1', arch: 'arm64' }],
    ['kubernetes-v1.34.0-rc.1-x86-64.raw', { name: 'kubernetes', version: 'v1.34.0-rc.1', arch: 'x86-64' }],
  ])('%s', (file, id) => {
    expect(parseFile(file)).toEqual(id);
    expect(fileOf(parseFile(file)!)).toBe(file);
    expect(parseFileOf(id.name, file)).toEqual(id);
  });

  it.each([
    'kubernetes.raw',
    'kubernetes-x86-64.raw',
    'kubernetes-v1.33.2.raw',
    'kubernetes-v1.33.2-amd64.raw',
    'kubernetes-v1.33.2-x86-64.img',
    'Kubernetes-v1.33.2-x86-64.raw',
    '../kubernetes-v1.33.2-x86-64.raw',
    'kubernetes-v1.33.2 -x86-64.raw',
    'kubernetes-v1/2-x86-64.raw',
    'c-1-x86-64.raw',
    '',
  ])('%s is none', (file) => expect(parseFile(file)).toBeUndefined());

  it('knows an extension with a number in its name by the folder', () => {
    const file = 'cuda-12-550.1-x86-64.raw';
    expect(parseFileOf('cuda-12', file)).toEqual({ name: 'cuda-12', version: '550.1', arch: 'x86-64' });
    expect(parseFileOf('other', file)).toBeUndefined();
  });

  it.each([
    [{ name: 'Kubernetes', version: '1', arch: 'arm64' }, /"Kubernetes" can't be the name/],
    [{ name: 'c', version: '1', arch: 'arm64' }, /"c" can't be the name/],
    [{ name: 'a', version: 'new', arch: 'arm64' }, /"new" can't be the version/],
    [{ name: 'a', version: '1 2', arch: 'arm64' }, /"1 2" can't be the version/],
    [{ name: 'a', version: '1', arch: 'amd64' }, /"amd64" is no architecture/],
  ])('refuses %j', (id, message) => expect(() => assertImageId(id)).toThrow(message));
});
