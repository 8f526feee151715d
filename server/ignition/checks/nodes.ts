import type { ConfigPath } from '../spec/place.ts';
import type { Directory, File, IgnitionConfig, Link } from '../spec/schema.ts';
import { RULE_SINCE } from '../spec/since.ts';
import { type CheckContext, has } from './check.ts';
import { pathFault } from './paths.ts';

const MAX_MODE = 0o7777;
/** What people write who take JSON's numbers for octal ones. */
const DECIMAL_SLIPS = [400, 440, 600, 640, 644, 660, 664, 700, 750, 755, 775, 777];

/** Files, directories and links, each for itself. */
export function checkNodes({ storage }: IgnitionConfig, context: CheckContext): void {
  storage?.directories?.forEach((directory, index) => {
    const path = ['storage', 'directories', index];
    checkNode(directory, path, context);
    checkMode(directory.mode, path, context);
  });
  storage?.files?.forEach((file, index) => {
    const path = ['storage', 'files', index];
    checkNode(file, path, context);
    checkMode(file.mode, path, context);
    if (file.overwrite === true && file.contents?.source === undefined) {
      context.error(
        [...path, 'overwrite'],
        'nothing is there to overwrite with: add "contents", or set it to false',
      );
    }
  });
  storage?.links?.forEach((link, index) => {
    const path = ['storage', 'links', index];
    checkNode(link, path, context);
    checkLink(link, path, context);
  });
}

function checkNode(node: Directory | File | Link, path: ConfigPath, context: CheckContext): void {
  const fault = pathFault(node.path);
  if (fault !== undefined) context.error([...path, 'path'], fault);
  for (const whose of ['user', 'group'] as const) {
    const { id, name } = node[whose] ?? {};
    if (id !== undefined && name !== undefined && name !== '') {
      context.error([...path, whose], `give the id of the ${whose} or its name, not both`);
    }
  }
}

function checkMode(mode: number | undefined, path: ConfigPath, context: CheckContext): void {
  if (mode === undefined) return;
  if (mode < 0 || mode > MAX_MODE) {
    const hint = isOctalLookalike(mode)
      ? `; JSON has no octal numbers: ${mode} is written ${fromOctal(mode)}`
      : '';
    context.error([...path, 'mode'], `expected a mode from 0 to ${MAX_MODE} (07777), got ${mode}${hint}`);
  } else if (DECIMAL_SLIPS.includes(mode)) {
    const octal = mode.toString(8).padStart(4, '0');
    context.warning(
      [...path, 'mode'],
      `${mode} is mode ${octal}; if 0${mode} was meant, write ${fromOctal(mode)}`,
    );
  } else if (mode & 0o7000) {
    const plain = mode & 0o777;
    context.warning([...path, 'mode'], `Ignition drops setuid, setgid and sticky bits; write ${plain}`);
  }
}

function isOctalLookalike(mode: number): boolean {
  return /^[0-7]{3,5}$/.test(String(mode)) && fromOctal(mode) <= MAX_MODE;
}

function fromOctal(digits: number): number {
  return Number.parseInt(String(digits), 8);
}

function checkLink({ target, hard, user, group }: Link, path: ConfigPath, context: CheckContext): void {
  if (target === undefined || target === '') {
    const message = 'a target is missing; say with "target" what the link points to';
    if (has(context, RULE_SINCE.linkNeedsTarget)) context.error([...path, 'target'], message);
    else context.warning([...path, 'target'], message);
    return;
  }
  if (hard !== true) return;
  for (const [whose, owner] of Object.entries({ user, group })) {
    if (owner?.id === undefined && owner?.name === undefined) continue;
    context.warning([...path, whose], `a hard link has the ${whose} of what it links to; remove this`);
  }
}
