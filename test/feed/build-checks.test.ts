import { describe, expect, it } from 'vitest';
import { type TreeEntry, treeFault } from '../../server/feed/build/check-tree.ts';
import { extensionRelease, releaseFault } from '../../server/feed/build/extension-release.ts';
import { squashfsFault } from '../../server/feed/squashfs.ts';
import { fakeImage } from '../support/sysext-image.ts';

describe('a folder that becomes an image', () => {
  it.each<TreeEntry>([
    { path: 'usr', type: 'folder' },
    { path: 'opt', type: 'folder' },
    { path: 'usr/bin/kubelet', type: 'file' },
    // As the bakery's Kubernetes has it: hosts have that place.
    { path: 'usr/libexec/volume', type: 'link', target: '/var/kubernetes/volume' },
    { path: 'usr/bin/sh', type: 'link', target: '../lib/sh' },
    { path: 'usr/bin/up', type: 'link', target: '../../opt/up' },
  ])('can have %j', (entry) => expect(treeFault(entry, '/stage')).toBeUndefined());

  it.each<[TreeEntry, RegExp]>([
    [{ path: 'etc', type: 'folder' }, /only usr\/ and opt\//],
    [{ path: 'usr2/x', type: 'file' }, /only usr\/ and opt\//],
    [{ path: 'README', type: 'file' }, /only usr\/ and opt\//],
    [{ path: 'usr', type: 'link', target: '/usr' }, /has to be a folder/],
    [{ path: 'opt', type: 'file' }, /has to be a folder/],
    [{ path: 'usr/pipe', type: 'other' }, /devices, sockets and pipes/],
    [{ path: 'usr/bin/x', type: 'link', target: '../../../etc/shadow' }, /leads out of the image/],
    [{ path: 'usr/bin/x', type: 'link', target: '/stage/usr/bin/y' }, /which hosts don't have/],
    [{ path: 'usr/bin/x', type: 'link', target: '/other/../stage/usr/y' }, /which hosts don't have/],
  ])('can not have %j', (entry, fault) => expect(treeFault(entry, '/stage')).toMatch(fault));
});

describe('extension-release', () => {
  const arch = 'x86-64';

  it.each([
    extensionRelease({ arch }),
    'ID=flatcar\nSYSEXT_LEVEL=1.0\nARCHITECTURE=x86-64\n',
    'ID="flatcar"\nVERSION_ID="4593.2.5"\n# a comment\n',
    "ID='_any'\n",
  ])('%j is fine', (text) => expect(releaseFault(text, { arch })).toBeUndefined());

  it.each([
    ['', /no ID=/],
    ['ID=_any\nARCHITECTURE=arm64\n', /ARCHITECTURE=arm64, and the image is for x86-64/],
    ['ID=flatcar\n', /without VERSION_ID= or SYSEXT_LEVEL=/],
  ])('%j is not', (text, fault) => expect(releaseFault(text, { arch })).toMatch(fault));
});

describe('an image', () => {
  const image = fakeImage('x');

  it.each<[string, Buffer, number, RegExp | undefined]>([
    ['that is whole', image, image.length, undefined],
    ['with padding', image, image.length + 1000, undefined],
    ['that is cut', image, image.length - 1, /it is cut: it has 4095 of 4096 bytes/],
    ['of another kind', Buffer.alloc(4096), 4096, /no squashfs/],
    ['that hardly begins', image.subarray(0, 50), 50, /no squashfs/],
  ])('%s', (_what, beginning, size, fault) => {
    if (fault === undefined) expect(squashfsFault(beginning, size)).toBeUndefined();
    else expect(squashfsFault(beginning, size)).toMatch(fault);
  });
});
