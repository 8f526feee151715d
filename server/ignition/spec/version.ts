/** The versions of Ignition's spec that are known here, oldest first. */
export const SPEC_VERSIONS = ['3.0.0', '3.1.0', '3.2.0', '3.3.0', '3.4.0'] as const;

export type SpecVersion = (typeof SPEC_VERSIONS)[number];

/** What every Flatcar takes, and the newest that Debian's Ignition takes. */
export const USUAL_VERSION: SpecVersion = '3.3.0';

export function isAtLeast(version: SpecVersion, since: SpecVersion): boolean {
  return SPEC_VERSIONS.indexOf(version) >= SPEC_VERSIONS.indexOf(since);
}

export function newerOf(a: SpecVersion, b: SpecVersion): SpecVersion {
  return isAtLeast(a, b) ? a : b;
}

/** Ignition reads the version as numbers, so that "03.3.0" and "3.3.0-" are 3.3.0 as well. */
export function readSpecVersion(text: string): SpecVersion | undefined {
  const numbers = /^(\d+)\.(\d+)\.(\d+)-?\+?$/.exec(text)?.slice(1).map(Number);
  return SPEC_VERSIONS.find((version) => version === numbers?.join('.'));
}
