import { quote } from '../../document/problem.ts';
import type { IgnitionConfig } from '../spec/schema.ts';
import type { CheckContext } from './check.ts';

/** Ignition hands these to useradd and groupadd as they are: what those refuse is a machine that doesn't come up. */
export function checkPasswd({ passwd }: IgnitionConfig, context: CheckContext): void {
  for (const kind of ['users', 'groups'] as const) {
    passwd?.[kind]?.forEach(({ name }, index) => {
      const path = ['passwd', kind, index, 'name'];
      if (name === '') context.warning(path, 'a name is missing; creating it will fail');
      else if (!/^[a-z_][a-z0-9_-]*\$?$/i.test(name) || name.length > 32) {
        context.warning(path, `${quote(name)} is no name that Linux takes; creating it will fail`);
      }
    });
  }
  passwd?.users?.forEach(({ sshAuthorizedKeys = [], passwordHash }, index) => {
    const path = ['passwd', 'users', index];
    sshAuthorizedKeys.forEach((key, n) => {
      // No part of the key is shown: a private one may have been pasted.
      if (/PRIVATE KEY/.test(key)) {
        context.warning(
          [...path, 'sshAuthorizedKeys', n],
          'this is a private key; only the public one belongs here',
        );
      } else if (!/^\S.*\s\S+/s.test(key.trim())) {
        context.warning(
          [...path, 'sshAuthorizedKeys', n],
          'this is no SSH key; it is like "ssh-ed25519 AAAA… name"',
        );
      }
    });
    if (passwordHash && !/^[$!*]|^_|^[./0-9A-Za-z]{13}$/.test(passwordHash)) {
      context.warning([...path, 'passwordHash'], 'this is no hash of a password; make one with mkpasswd');
    }
  });
}
