// Every boot loader that `npm run bootloaders` puts into boot/, and where packages and distributions have it.
//
// The folder is laid out so that a DHCP server needs nothing but a file name:
//   lpxelinux.0 and its modules are at the top. syslinux.efi is there too, with its core ldlinux.e64: that is all
//   that Railhead's menus need. But its other modules have the names of the BIOS ones (menu.c32 …) and can't run
//   in their place, so efi64/ is a complete set of its own: a machine that was given efi64/syslinux.efi looks for
//   everything, its configuration too, in efi64/.

/** @typedef {'amd64' | 'arm64'} Arch */

/**
 * @typedef {object} Loader
 * @property {string} file its name in boot/
 * @property {string} why what it is there for
 * @property {string[]} from where it is in a package or on a system, best first; without the leading slash
 * @property {Arch} [arch] what the EFI program in it has to be for: names alone don't tell
 * @property {true} [needed] the defaults don't work without it
 */

/**
 * @typedef {object} Group boot loaders of one project, from the same packages
 * @property {string} name
 * @property {Array<{ name: string, arch?: Arch }>} packages Debian's; without `arch` for any machine
 * @property {'own' | 'newest'} release which Debian release to take them from: the one this machine runs, or the
 *   newest that can be had
 * @property {boolean} together its files only work with each other, so all come from the same place
 * @property {string} install what to do where nothing has them
 * @property {Loader[]} loaders
 */

const BIOS_MODULES = [
  'chain.c32',
  'hdt.c32',
  'ifcpu64.c32',
  'libcom32.c32',
  'libgpl.c32',
  'libmenu.c32',
  'libutil.c32',
  'linux.c32',
  'mboot.c32',
  'menu.c32',
  'poweroff.c32',
  'pxechn.c32',
  'reboot.c32',
  'vesamenu.c32',
  'whichsys.c32',
];

/** These two only exist for BIOS. */
const EFI_MODULES = BIOS_MODULES.filter((name) => !['poweroff.c32', 'pxechn.c32'].includes(name));

/** @param {string} name @returns {string[]} Debian; Fedora, openSUSE, Alpine, Gentoo; Arch */
const pxelinux = (name) => [
  `usr/lib/PXELINUX/${name}`,
  `usr/share/syslinux/${name}`,
  `usr/lib/syslinux/bios/${name}`,
];
/** @param {string} name @returns {string[]} */
const biosModule = (name) => [
  `usr/lib/syslinux/modules/bios/${name}`,
  `usr/share/syslinux/${name}`,
  `usr/lib/syslinux/bios/${name}`,
];
/** @param {string} name @returns {string[]} */
const efiModule = (name) => [
  `usr/lib/syslinux/modules/efi64/${name}`,
  `usr/share/syslinux/efi64/${name}`,
  `usr/lib/syslinux/efi64/${name}`,
];
const SYSLINUX_EFI = [
  'usr/lib/SYSLINUX.EFI/efi64/syslinux.efi',
  'usr/share/syslinux/efi64/syslinux.efi',
  'usr/lib/syslinux/efi64/syslinux.efi',
];

const IPXE_X64 = [
  'usr/lib/ipxe/ipxe-amd64.efi', // Debian since 2025, Ubuntu
  'usr/lib/ipxe/ipxe.efi',
  'boot/ipxe.efi', // where the former one points to, in older packages
  'usr/share/ipxe/ipxe-x86_64.efi', // Fedora, openSUSE
  'usr/share/ipxe/x86_64/ipxe.efi', // Arch
  'usr/share/ipxe/ipxe.efi',
];
const IPXE_ARM64 = [
  'usr/lib/ipxe/ipxe-arm64.efi',
  'usr/share/ipxe/arm64-efi/ipxe.efi',
  'usr/share/ipxe/ipxe-arm64.efi',
  'usr/share/ipxe/ipxe-aarch64.efi',
  'usr/share/ipxe/arm64/ipxe.efi',
];

/** Fedora and its relatives: signed, as installed for the machine itself. @param {string} name */
const installedEfi = (name) =>
  ['fedora', 'centos', 'redhat', 'rocky', 'almalinux'].map((vendor) => `boot/efi/EFI/${vendor}/${name}`);

/** @param {Arch} arch @param {string} suffix @param {string} grubFolder @returns {Group} */
const secureBoot = (arch, suffix, grubFolder) => ({
  name: `signed-grub-${arch}`,
  packages: [
    { name: 'shim-signed', arch },
    { name: `grub-efi-${arch}-signed`, arch },
  ],
  // Debian 12's has no HTTP inside.
  release: 'newest',
  // A shim only starts what its own distribution has signed.
  together: true,
  install: `install shim and GRUB as signed by your distribution (Debian: shim-signed, grub-efi-${arch}-signed)`,
  loaders: [
    {
      file: `shim${suffix}.efi`,
      why: `UEFI ${arch} machines with Secure Boot start with it`,
      // Ubuntu leaves the plain name to its installation scripts.
      from: [
        `usr/lib/shim/shim${suffix}.efi.signed`,
        `usr/lib/shim/shim${suffix}.efi.signed.latest`,
        ...installedEfi(`shim${suffix}.efi`),
      ],
      arch,
    },
    {
      // The name that shim asks for, in the folder it came from.
      file: `grub${suffix}.efi`,
      why: `shim${suffix}.efi goes on with it`,
      // The one that has the network inside; it looks for grub/grub.cfg.
      from: [`usr/lib/grub/${grubFolder}/grubnet${suffix}.efi.signed`, ...installedEfi(`grub${suffix}.efi`)],
      arch,
    },
  ],
});

/** @type {Group[]} */
export const GROUPS = [
  {
    name: 'syslinux',
    packages: [{ name: 'pxelinux' }, { name: 'syslinux-common' }, { name: 'syslinux-efi' }],
    release: 'own',
    // A module of another version is refused.
    together: true,
    install:
      "install your distribution's PXELINUX (Debian: pxelinux, syslinux-common, syslinux-efi; elsewhere: syslinux)",
    loaders: [
      {
        file: 'lpxelinux.0',
        why: 'BIOS machines start with it where DHCP can not tell iPXE',
        from: pxelinux('lpxelinux.0'),
      },
      {
        file: 'ldlinux.c32',
        why: 'lpxelinux.0 and pxelinux.0 go on with it',
        from: biosModule('ldlinux.c32'),
      },
      { file: 'pxelinux.0', why: 'the same without HTTP', from: pxelinux('pxelinux.0') },
      {
        file: 'memdisk',
        why: 'starts disk images on BIOS',
        from: ['usr/lib/syslinux/memdisk', 'usr/share/syslinux/memdisk', 'usr/lib/syslinux/bios/memdisk'],
      },
      ...BIOS_MODULES.map((name) => ({ file: name, why: 'for menus on BIOS', from: biosModule(name) })),
      { file: 'syslinux.efi', why: 'UEFI machines can start with it', from: SYSLINUX_EFI, arch: 'amd64' },
      { file: 'ldlinux.e64', why: 'syslinux.efi goes on with it', from: efiModule('ldlinux.e64') },
      {
        file: 'efi64/syslinux.efi',
        why: 'the same, for menus with modules',
        from: SYSLINUX_EFI,
        arch: 'amd64',
      },
      {
        file: 'efi64/ldlinux.e64',
        why: 'efi64/syslinux.efi goes on with it',
        from: efiModule('ldlinux.e64'),
      },
      ...EFI_MODULES.map((name) => ({
        file: `efi64/${name}`,
        why: 'for menus on UEFI',
        from: efiModule(name),
      })),
    ],
  },
  {
    name: 'ipxe',
    packages: [{ name: 'ipxe' }],
    // Debian 12 has one of 2019: nothing for arm64, and it does not look for autoexec.ipxe.
    release: 'newest',
    together: false,
    install:
      "install your distribution's iPXE (Debian, Ubuntu, Arch: ipxe; Fedora: ipxe-bootimgs-x86, ipxe-bootimgs-aarch64; openSUSE: ipxe-bootimgs)",
    loaders: [
      {
        file: 'snponly.efi',
        why: 'UEFI amd64 machines start with it',
        // The last ones are no snponly, but do what it does and bring drivers of their own besides.
        from: [
          'usr/lib/ipxe/snponly.efi',
          'usr/share/ipxe/ipxe-snponly-x86_64.efi',
          'usr/share/ipxe/snponly.efi',
          'usr/share/ipxe/snp-x86_64.efi',
          ...IPXE_X64,
        ],
        arch: 'amd64',
        needed: true,
      },
      {
        file: 'undionly.kpxe',
        why: 'BIOS machines start with it',
        from: ['usr/lib/ipxe/undionly.kpxe', 'usr/share/ipxe/undionly.kpxe'],
        needed: true,
      },
      { file: 'ipxe.efi', why: 'iPXE with its own network drivers', from: IPXE_X64, arch: 'amd64' },
      {
        file: 'snponly-arm64.efi',
        why: 'UEFI arm64 machines start with it',
        // Debian builds no snponly for arm64: there it is ipxe-arm64.efi under this name.
        from: [
          'usr/lib/ipxe/snponly-arm64.efi',
          'usr/share/ipxe/arm64-efi/snponly.efi',
          'usr/share/ipxe/snponly-arm64.efi',
          ...IPXE_ARM64,
        ],
        arch: 'arm64',
      },
      {
        file: 'ipxe-arm64.efi',
        why: 'iPXE for arm64 with its own network drivers',
        from: IPXE_ARM64,
        arch: 'arm64',
      },
    ],
  },
  secureBoot('amd64', 'x64', 'x86_64-efi-signed'),
  secureBoot('arm64', 'aa64', 'arm64-efi-signed'),
];

export const LOADERS = GROUPS.flatMap(({ loaders }) => loaders);

/** What `railhead up` can't do without, on a network of ordinary machines. */
export const NEEDED = LOADERS.filter(({ needed }) => needed).map(({ file }) => file);
