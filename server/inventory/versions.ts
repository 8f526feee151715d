/** Which versions go together. Facts of other projects, kept in one place so that they can be kept current. */

export interface Version {
  major: number;
  minor: number;
  patch: number;
}

export function parseVersion(text: string): Version {
  const [major = 0, minor = 0, patch = 0] = text.replace(/^v/, '').split('.').map(Number);
  return { major, minor, patch };
}

export function compareVersions(a: Version, b: Version): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}

/** kubeadm's oldest configuration format that Railhead writes, v1beta3, came with 1.22. */
const OLDEST_KUBERNETES_MINOR = 22;

/**
 * The lowest containerd of each of its release lines that the containerd project recommends for a Kubernetes
 * minor (its RELEASES.md). A line that is newer than all listed ones is taken to be fine.
 */
const CONTAINERD_FOR_KUBERNETES: Record<number, string[]> = {
  26: ['1.6.15', '1.7.0'],
  27: ['1.6.15', '1.7.0'],
  28: ['1.6.15', '1.7.0'],
  29: ['1.6.27', '1.7.11'],
  30: ['1.6.28', '1.7.13', '2.0.0'],
  31: ['1.6.34', '1.7.20', '2.0.0'],
  32: ['1.6.36', '1.7.24', '2.0.1'],
  33: ['1.6.36', '1.7.24', '2.0.4'],
  34: ['1.7.28', '2.0.6', '2.1.3'],
  35: ['1.7.28', '2.1.5'],
  // The kubelet dropped containerd 1.x after 1.35.
  36: ['2.1.5'],
};

const NEWEST_KNOWN_MINOR = Math.max(...Object.keys(CONTAINERD_FOR_KUBERNETES).map(Number));

export function kubernetesFault(text: string): string | undefined {
  const version = parseVersion(text);
  if (version.major !== 1) return `Kubernetes ${text} does not exist; versions start with 1`;
  if (version.minor < OLDEST_KUBERNETES_MINOR) {
    return `Kubernetes ${text} is too old; the oldest that Railhead can set up is 1.${OLDEST_KUBERNETES_MINOR}.0`;
  }
  return undefined;
}

/** Why this containerd is not recommended for this Kubernetes, or `undefined`. */
export function containerdFault(kubernetes: string, containerd: string): string | undefined {
  const { minor } = parseVersion(kubernetes);
  const lines = CONTAINERD_FOR_KUBERNETES[Math.min(minor, NEWEST_KNOWN_MINOR)];
  if (lines === undefined) return undefined;
  const wanted = lines.map(parseVersion);
  const have = parseVersion(containerd);
  const newestLine = wanted.at(-1)!;
  const sameLine = wanted.find((line) => line.major === have.major && line.minor === have.minor);
  const fits =
    sameLine === undefined ? compareVersions(have, newestLine) > 0 : compareVersions(have, sameLine) >= 0;
  if (fits) return undefined;
  return `Kubernetes ${kubernetes} needs a newer containerd than ${containerd}: ${lines.join(' or ')} or later`;
}
