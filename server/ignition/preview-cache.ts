import type { HostSpec } from '../inventory/model.ts';
import type { Written } from './compose.ts';
import type { Purpose } from './delivery.ts';

/** How a configuration is shown: as machines get it, or as what it is made of. */
export type Format = 'ignition' | 'butane';

/** All that a preview is made of besides the host, and that may change. */
export interface Stamp {
  revision: string | undefined;
  /** Of the templates. */
  edition: number;
  /** Of the server. */
  url: string;
  /** What had to be asked for. */
  asked: string;
}

interface Kept {
  purpose: Purpose;
  format: Format;
  stamp: Stamp;
  preview: Written;
}

/**
 * The previews of each host, the newest of every kind. They go when the host goes: every revision of the inventory has
 * hosts of its own, so nobody fills this by asking for old ones. Not by a key made of all this, which would take longer
 * to make than to look up.
 */
export class PreviewCache {
  readonly #byHost = new WeakMap<HostSpec, Kept[]>();

  find(host: HostSpec, purpose: Purpose, format: Format, stamp: Stamp): Written | undefined {
    for (const kept of this.#byHost.get(host) ?? []) {
      if (isKind(kept, purpose, format)) return isSame(kept.stamp, stamp) ? kept.preview : undefined;
    }
    return undefined;
  }

  keep(host: HostSpec, purpose: Purpose, format: Format, stamp: Stamp, preview: Written): void {
    const others = (this.#byHost.get(host) ?? []).filter((kept) => !isKind(kept, purpose, format));
    this.#byHost.set(host, [...others, { purpose, format, stamp, preview }]);
  }
}

function isKind(kept: Kept, purpose: Purpose, format: Format): boolean {
  return kept.purpose === purpose && kept.format === format;
}

function isSame(a: Stamp, b: Stamp): boolean {
  return a.revision === b.revision && a.edition === b.edition && a.url === b.url && a.asked === b.asked;
}
