/** The inventory says `amd64` or `arm64` everywhere; this is the only place that knows what others call them. */
export type Arch = 'amd64' | 'arm64';

const NAMES = {
  amd64: { systemd: 'x86-64', board: 'amd64-usr' },
  arm64: { systemd: 'arm64', board: 'arm64-usr' },
} as const satisfies Record<Arch, { systemd: string; board: string }>;

/** systemd's `%a`, as in the file names of sysext images. */
export function systemdArch(arch: Arch): (typeof NAMES)[Arch]['systemd'] {
  return NAMES[arch].systemd;
}

/** Flatcar's board, as in the paths of its releases. */
export function flatcarBoard(arch: Arch): string {
  return NAMES[arch].board;
}
