import type { Path } from '../../document/yaml.ts';
import type { JsonObject } from './json.ts';
import { looksDecimal } from './mode.ts';
import { mountUnit } from './mount-unit.ts';
import { attempt, type Contents, meltResource } from './resources.ts';
import type { StructName } from './schema.ts';
import type { Finish, Translated } from './translate.ts';
import type { Tree } from './trees.ts';

/** Butane's sugar, turned into what Ignition has for it. What concerns the whole config is kept for the end. */
export class Melting {
  readonly mountUnits: { unit: JsonObject; path: Path }[] = [];
  readonly trees: Tree[] = [];
  readonly #contents: Contents;

  constructor(contents: Contents) {
    this.#contents = contents;
  }

  readonly finish: Finish = (struct, translated) => {
    this.#byStruct[struct]?.(translated);
  };

  readonly #byStruct: Partial<Record<StructName, (translated: Translated) => void>> = {
    resource: (translated) => meltResource(translated, this.#contents),
    file: (translated) => this.#warnOfMode(translated, false),
    directory: (translated) => this.#warnOfMode(translated, true),
    user: (translated) => this.#addKeys(translated),
    unit: (translated) => this.#readContents(translated),
    dropin: (translated) => this.#readContents(translated),
    filesystem: (translated) => this.#keepMount(translated),
    luks: (translated) => this.#refuseClevis(translated),
    tree: (translated) => this.#keepTree(translated),
  };

  #warnOfMode({ made, path }: Translated, isDirectory: boolean): void {
    if (typeof made.mode !== 'number' || !looksDecimal(made.mode, isDirectory)) return;
    const meant = String(made.mode).padStart(4, '0');
    this.#contents.report.warning(
      [...path, 'mode'],
      `${made.mode} is decimal and an odd mode; did you mean ${meant}?`,
    );
  }

  #addKeys({ made, sugar, path }: Translated): void {
    const names = (sugar.ssh_authorized_keys_local ?? []) as readonly string[];
    for (const [index, name] of names.entries()) {
      const at = [...path, 'ssh_authorized_keys_local', index];
      const bytes = attempt(() => this.#contents.files.read(name), at, this.#contents.report);
      const keys = asText(bytes)
        .split(/\r?\n/)
        .filter((line) => line !== '');
      if (keys.length === 0) continue;
      made.sshAuthorizedKeys = [
        ...(Array.isArray(made.sshAuthorizedKeys) ? made.sshAuthorizedKeys : []),
        ...keys,
      ];
    }
  }

  #readContents({ made, sugar, path }: Translated): void {
    const local = sugar.contents_local;
    if (typeof local !== 'string') return;
    const at = [...path, 'contents_local'];
    if (made.contents !== undefined) {
      this.#contents.report.error(at, 'only one of contents and contents_local can be set');
      return;
    }
    if (local === '') return;
    const bytes = attempt(() => this.#contents.files.read(local), at, this.#contents.report);
    if (bytes !== undefined) made.contents = asText(bytes);
  }

  #keepMount({ made, sugar, path }: Translated): void {
    if (sugar.with_mount_unit !== true) return;
    const { report } = this.#contents;
    const at = [...path, 'with_mount_unit'];
    const text = (key: string): string => (typeof made[key] === 'string' ? made[key] : '');
    const [device, format, mountPoint] = [text('device'), text('format'), text('path')];
    if (format === '') report.error(at, '"format" is missing; a mount unit needs it');
    else if (format !== 'swap' && mountPoint === '') {
      report.error(at, '"path" is missing; a mount unit needs it, unless the format is swap');
    } else {
      const options = Array.isArray(made.mountOptions) ? made.mountOptions.map(String) : [];
      this.mountUnits.push({ unit: mountUnit({ device, format, path: mountPoint, options }), path: at });
    }
  }

  #refuseClevis({ made, path }: Translated): void {
    if (made.clevis !== undefined)
      this.#contents.report.keyError([...path, 'clevis'], 'Flatcar has no clevis; use key_file');
  }

  #keepTree({ sugar, path }: Translated): void {
    const { local, path: to } = sugar as { local?: string; path?: string };
    if (local === undefined || local === '')
      this.#contents.report.error(path, '"local" is missing: the folder to take files from');
    else this.trees.push({ local, to: to || '/', path });
  }
}

/** As Go reads bytes into a JSON text: what is no UTF-8 becomes U+FFFD. */
function asText(bytes: Uint8Array | undefined): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
