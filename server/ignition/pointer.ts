/** What the kernel's URL answers with: where the real configuration is, and how to know that it is the right one. */
export interface PointerInput {
  /** `https://10.0.0.5:8443/boot/<token>/config.ign` */
  url: string;
  token: string;
  /** The certificate of the appliance's authority, PEM. */
  authority: string;
  /** `sha512-…` of the real configuration; left out as long as it can't be made. */
  hash?: string | undefined;
}

/** Ignition can't be given a CA for the first URL, so that one is plain and says nothing but this. */
export function pointerConfig({ url, token, authority, hash }: PointerInput) {
  return {
    ignition: {
      version: '3.3.0',
      config: {
        replace: {
          source: url,
          httpHeaders: [{ name: 'Authorization', value: `Bearer ${token}` }],
          ...(hash === undefined ? {} : { verification: { hash } }),
        },
      },
      security: { tls: { certificateAuthorities: [{ source: dataUrl(authority) }] } },
    },
  };
}

function dataUrl(text: string): string {
  return `data:;base64,${Buffer.from(text).toString('base64')}`;
}
