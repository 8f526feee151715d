export interface TransferOptions {
  /** Of the extension: `kubernetes`. */
  name: string;
  /** How hosts reach this server, such as `http://10.0.0.5:8080`. */
  baseUrl: string;
  /** Only versions that may be given to this cluster. */
  cluster?: string | undefined;
  /** Only patches of this minor, spelled as in the names of the images (see `spellMinor`): `v1.33`, `2.0`. */
  minor?: string | undefined;
  /** Whether the signature of the sums is checked, against /etc/systemd/import-pubring.gpg. */
  verify: boolean;
}

/**
 * A definition for systemd-sysupdate, for `/etc/sysupdate.<name>.d/<name>.conf`. It ends in `.conf` for systemd 255;
 * one file that ends in `.transfer` beside it would make newer ones ignore it.
 */
export function transferDefinition({ name, baseUrl, cluster, minor, verify }: TransferOptions): string {
  const view = cluster === undefined ? '' : `c/${cluster}/`;
  const pin = minor === undefined ? '' : `${minor}.`;
  return `[Transfer]
Verify=${verify ? 'yes' : 'no'}

[Source]
Type=url-file
Path=${baseUrl.replace(/\/+$/, '')}/sysext/${view}${name}/
MatchPattern=${name}-${pin}@v-%a.raw

[Target]
InstancesMax=3
Type=regular-file
Path=/opt/extensions/${name}
CurrentSymlink=/etc/extensions/${name}.raw
`;
}

/** For `/etc/sysupdate.d/noop.conf`: systemd-sysupdate.service fails without any definition there. Matches nothing. */
export function noopDefinition(): string {
  return `[Source]
Type=regular-file
Path=/
MatchPattern=invalid@v.raw

[Target]
Type=regular-file
Path=/
`;
}

/**
 * A minor as the images of this extension spell it. The bakery's Kubernetes has a `v` before its versions, its
 * containerd has none; what is there decides, and the bakery's habit where nothing is there yet.
 */
export function spellMinor(name: string, minor: string, versions: readonly string[] = []): string {
  const plain = minor.replace(/^v/, '');
  const spelled = [`v${plain}`, plain].find((one) =>
    versions.some((version) => version.startsWith(`${one}.`)),
  );
  if (spelled !== undefined) return spelled;
  return minor.startsWith('v') || name === 'kubernetes' ? `v${plain}` : plain;
}
