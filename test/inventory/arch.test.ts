import { expect, it } from 'vitest';
import { flatcarBoard, systemdArch } from '../../server/inventory/arch.ts';

it.each([
  { arch: 'amd64', systemd: 'x86-64', board: 'amd64-usr' },
  { arch: 'arm64', systemd: 'arm64', board: 'arm64-usr' },
] as const)('$arch is $systemd to systemd and $board to Flatcar', ({ arch, systemd, board }) => {
  expect(systemdArch(arch)).toBe(systemd);
  expect(flatcarBoard(arch)).toBe(board);
});
