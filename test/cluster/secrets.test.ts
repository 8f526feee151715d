import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { issueClientCertificate, keysFault, makeAuthority, pinOf } from '../../server/cluster/pki.ts';
import { makeSecrets, secretsFaults } from '../../server/cluster/secrets.ts';
import { decryptSecrets, encryptSecrets } from '../../server/cluster/secrets-file.ts';
import { onEveryStore } from '../support/stores.ts';
import { exampleInventory } from './inventory.ts';
import { clustersOn } from './service.ts';

const now = new Date('2026-11-16T12:00:00Z');
const YEARS = 10;

describe('the secrets of a cluster', () => {
  it('are valid on machines whose clock is dead, and for ten years', async () => {
    const { ca, etcdCa, frontProxyCa } = await makeSecrets(now);
    for (const { certificate } of [ca, etcdCa, frontProxyCa]) {
      const parsed = new X509Certificate(certificate);
      expect(parsed.ca).toBe(true);
      expect(new Date(parsed.validFrom)).toEqual(new Date('2020-01-01T00:00:00Z'));
      expect(new Date(parsed.validTo).getUTCFullYear()).toBe(2026 + YEARS);
      expect(parsed.publicKey.asymmetricKeyDetails?.namedCurve).toBe('prime256v1');
    }
    expect(pinOf(ca.certificate)).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  it('are refused when they are over, or do not belong together', async () => {
    const secrets = await makeSecrets(now);
    expect(secretsFaults(secrets, now)).toEqual([]);
    expect(secretsFaults(secrets, new Date('2037-01-01'))).toHaveLength(3);
    expect(secretsFaults({ ...secrets, ca: { ...secrets.ca, key: secrets.etcdCa.key } }, now)).toEqual([
      'cluster CA: its key does not belong to its certificate',
    ]);
    const leaf = await issueClientCertificate(secrets.ca, {
      commonName: 'x',
      organisation: 'y',
      notAfter: now,
    });
    expect(secretsFaults({ ...secrets, etcdCa: leaf }, now)).toEqual([
      'etcd CA: its certificate is not that of an authority',
    ]);
    expect(secretsFaults({ ...secrets, frontProxyCa: { certificate: 'x', key: 'y' } }, now)).toEqual([
      'front-proxy CA: its certificate or its key can not be read',
    ]);
    expect(secretsFaults({ ...secrets, encryptionKey: 'AAAA' }, now)).toEqual([
      'encryption key: it has 3 bytes in place of 32',
    ]);
    const other = await makeSecrets(now);
    expect(keysFault({ ...secrets.serviceAccount, key: other.serviceAccount.key })).toContain(
      'does not belong',
    );
  });

  it('may be of another kind when they come from elsewhere: RSA signs, too', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const ca = await makeAuthority('kubernetes', now);
    // A certificate of ours under a foreign key is no authority, but signing with it has to work.
    const made = await issueClientCertificate(
      { ...ca, key },
      { commonName: 'x', organisation: 'y', notAfter: now },
    );
    expect(new X509Certificate(made.certificate).verify(publicKey)).toBe(true);
  });

  it('leave the appliance encrypted, for one cluster, and come back with the passphrase only', async () => {
    const text = JSON.stringify(await makeSecrets(now));
    const file = await encryptSecrets('lab', text, 'correct horse');
    expect(file).not.toContain('PRIVATE KEY');
    expect(await decryptSecrets('lab', file, 'correct horse')).toBe(text);
    await expect(decryptSecrets('lab', file, 'wrong horse')).rejects.toThrow(/passphrase is wrong/);
    await expect(decryptSecrets('prod', file, 'correct horse')).rejects.toThrow(
      /is for the cluster lab, not prod/,
    );
    await expect(
      decryptSecrets('lab', file.replace('"sealed": "', '"sealed": "AA'), 'correct horse'),
    ).rejects.toThrow(/passphrase is wrong, or the file was changed/);
    for (const junk of ['', '{}', '[]', 'null', '{"railhead":"backup","format":1}']) {
      await expect(decryptSecrets('lab', junk, 'x')).rejects.toThrow(/no file of cluster secrets/);
    }
    await expect(encryptSecrets('lab', text, 'short')).rejects.toThrow(/too short/);
  });
});

onEveryStore('secrets that are kept', (kind) => {
  it('are made once, whoever asks at the same time, and are not to be read in the database', async () => {
    const store = await kind.open();
    const inventory = await exampleInventory();
    const [one, other] = [clustersOn(store, inventory), clustersOn(store, inventory)];
    const all = await Promise.all([one, other, one].map(({ service }) => service.secrets.ensure('lab')));
    expect(new Set(all.map(({ ca }) => ca.certificate)).size).toBe(1);
    const rows = JSON.stringify(await store.db.selectFrom('clusters').selectAll().execute());
    const raw = Buffer.from(rows).toString('latin1');
    expect(raw).not.toContain('PRIVATE');
    expect(
      [...one.heard, ...other.heard].filter(({ kind: what }) => what === 'cluster.secrets-made'),
    ).toHaveLength(1);
    const { caHash } = (await one.service.describe('lab')).secrets!;
    expect(caHash).toBe(pinOf(all[0]!.ca.certificate));
  });

  it('with the key of another appliance nothing is begun, and it is said early', async () => {
    const store = await kind.open();
    const inventory = await exampleInventory();
    await clustersOn(store, inventory).service.secrets.ensure('lab');
    const other = clustersOn(store, inventory, { key: Buffer.alloc(32, 9) });
    const c1 = inventory.hosts.find(({ name }) => name === 'c1')!;
    await expect(other.service.answer(c1, 'x')).rejects.toMatchObject({ code: 'RH_VAULT_KEY' });
    expect(await store.db.selectFrom('init_claims').selectAll().execute()).toEqual([]);
    expect(await other.service.unreadable()).toEqual([expect.stringContaining('secrets of cluster lab')]);
    await expect(other.service.kubeconfig('lab', { hours: 8, address: 'x' })).rejects.toMatchObject({
      code: 'RH_VAULT_KEY',
    });
    expect((await other.service.describe('lab')).secrets?.faults[0]).toContain("can't be unsealed");
  });

  it('an expired CA begins nothing and lets nobody in', async () => {
    const store = await kind.open();
    const inventory = await exampleInventory();
    await clustersOn(store, inventory, { now: () => Date.UTC(2026, 0, 1) }).service.secrets.ensure('lab');
    const later = clustersOn(store, inventory, { now: () => Date.UTC(2036, 5, 1) });
    const c1 = inventory.hosts.find(({ name }) => name === 'c1')!;
    await expect(later.service.answer(c1, 'x')).rejects.toThrow(
      /cluster CA: its certificate expired on 2036-01-01/,
    );
    await expect(later.service.kubeconfig('lab', { hours: 8, address: 'x' })).rejects.toMatchObject({
      code: 'RH_CLUSTER_SECRETS',
    });
    expect(await store.db.selectFrom('init_claims').selectAll().execute()).toEqual([]);
  });

  it('that are imported replace none unless a person says so', async () => {
    const { service } = clustersOn(await kind.open(), await exampleInventory());
    const text = JSON.stringify(await makeSecrets(new Date()));
    await service.secrets.import('lab', text, { replace: false });
    const again = JSON.stringify(await makeSecrets(new Date()));
    await expect(service.secrets.import('lab', again, { replace: false })).rejects.toThrow(
      /has secrets already/,
    );
    await service.secrets.import('lab', again, { replace: true });
    expect((await service.secrets.ensure('lab')).ca).toEqual(JSON.parse(again).ca);
    await expect(service.secrets.import('lab', '{"ca":1}', { replace: true })).rejects.toThrow(
      /not in order/,
    );
    const broken = {
      ...JSON.parse(again),
      etcdCa: JSON.parse(text).ca,
      ca: { ...JSON.parse(again).ca, key: JSON.parse(text).ca.key },
    };
    await expect(service.secrets.import('lab', JSON.stringify(broken), { replace: true })).rejects.toThrow(
      /cluster CA: its key does not belong/,
    );
    const over = JSON.stringify(await makeSecrets(new Date('2010-01-01')));
    await expect(service.secrets.import('lab', over, { replace: true })).rejects.toThrow(
      /cluster CA: its certificate expired on 2020-01-01/,
    );
    expect((await service.secrets.ensure('lab')).ca).toEqual(JSON.parse(again).ca);
  });

  it('a cluster that is not in the inventory has none', async () => {
    const { service } = clustersOn(await kind.open(), await exampleInventory());
    await expect(service.kubeconfig('lad', { hours: 8, address: 'x' })).rejects.toThrow(
      /no cluster "lad".*lab/,
    );
  });
});
