import { quote } from '../../document/problem.ts';
import type { ConfigPath } from '../spec/place.ts';
import type { Clevis, IgnitionConfig, Luks, Tang } from '../spec/schema.ts';
import { RULE_SINCE } from '../spec/since.ts';
import { byteLength, type CheckContext, has } from './check.ts';
import { pathFault } from './paths.ts';
import { isHttp } from './urls.ts';

const MAX_LABEL = 47;
const PINS = ['tpm2', 'tang', 'sss'];

export function checkLuks({ storage }: IgnitionConfig, context: CheckContext): void {
  storage?.luks?.forEach((luks, index) => {
    const path = ['storage', 'luks', index];
    checkVolume(luks, path, context);
    if (luks.clevis) checkClevis(luks.clevis, [...path, 'clevis'], context);
  });
}

function checkVolume({ name, label = '', device = '' }: Luks, path: ConfigPath, context: CheckContext): void {
  if (name === '') context.warning([...path, 'name'], 'the volume has no name; give it one');
  if (name.includes('/')) context.error([...path, 'name'], `${quote(name)} has a "/"; write a name without`);
  if (byteLength(label) > MAX_LABEL) {
    context.error([...path, 'label'], `${quote(label)} has more than ${MAX_LABEL} bytes; shorten it`);
  }
  const fault = device === '' ? 'a device is missing; say which one to encrypt' : pathFault(device);
  if (fault !== undefined) context.error([...path, 'device'], fault);
}

function checkClevis(clevis: Clevis, path: ConfigPath, context: CheckContext): void {
  const { custom, tang = [], tpm2, threshold } = clevis;
  const emptyIsNone = has(context, RULE_SINCE.emptyClevisCustomIsNone);
  const hasCustom = emptyIsNone ? !!custom?.pin : custom !== undefined;
  if (hasCustom && (tang.length > 0 || tpm2 === true || !!threshold)) {
    context.error(path, '"custom" goes without tang, tpm2 and threshold; keep one way only');
  }
  if (custom !== undefined) checkCustom(custom, [...path, 'custom'], emptyIsNone, context);
  tang.forEach((server, index) => {
    checkTang(server, [...path, 'tang', index], context);
  });
}

function checkCustom(
  { pin = '', config = '', needsNetwork }: NonNullable<Clevis['custom']>,
  path: ConfigPath,
  emptyIsNone: boolean,
  context: CheckContext,
): void {
  if (pin === '' && config === '' && !(emptyIsNone && needsNetwork === true)) return;
  if (!PINS.includes(pin)) {
    context.error(
      [...path, 'pin'],
      `expected one of ${PINS.join(', ')}, got ${pin === '' ? 'nothing' : quote(pin)}`,
    );
  }
  if (config === '') context.error([...path, 'config'], 'a custom pin needs its configuration; add "config"');
}

function checkTang({ url, thumbprint, advertisement }: Tang, path: ConfigPath, context: CheckContext): void {
  if (!isHttp(url))
    context.error([...path, 'url'], 'expected a URL of http or https, such as "https://tang.example.com"');
  if (!thumbprint) context.error([...path, 'thumbprint'], "the thumbprint of the server's key is missing");
  if (advertisement && !isJson(advertisement)) {
    context.error([...path, 'advertisement'], 'expected the JSON that the server answers to GET /adv');
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
