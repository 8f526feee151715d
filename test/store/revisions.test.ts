import { expect, it } from 'vitest';
import { findRevision, listRevisions, putInForce, revisionInForce } from '../../server/store/revisions.ts';
import { onEveryStore } from '../support/stores.ts';

const revision = (hash: string) => ({ hash, createdAt: 1, document: Buffer.from(`document of ${hash}`) });

onEveryStore('revisions', (kind) => {
  it('keep the document byte for byte, and know which is in force', async () => {
    const { db } = await kind.open();
    expect(await revisionInForce(db)).toBeUndefined();
    await putInForce(db, revision('aaaa1111'));
    await putInForce(db, revision('bbbb2222'));
    expect(await revisionInForce(db)).toEqual(revision('bbbb2222'));
    await putInForce(db, revision('aaaa1111'));
    expect((await revisionInForce(db))?.hash).toBe('aaaa1111');
  });

  it('are found by the beginning of their hash, if it fits only one', async () => {
    const { db } = await kind.open();
    await putInForce(db, revision('abcd1111'));
    await putInForce(db, revision('abcd2222'));
    expect((await findRevision(db, 'abcd1'))?.hash).toBe('abcd1111');
    expect(await findRevision(db, 'abcd')).toBeUndefined();
    expect(await findRevision(db, '%')).toBeUndefined();
  });

  it('are dropped beyond the number to keep, but never the one in force', async () => {
    const { db } = await kind.open();
    await putInForce(db, revision('00aa'));
    for (const hash of ['11aa', '22aa', '33aa']) await putInForce(db, revision(hash), 2);
    await putInForce(db, revision('22aa'), 2);
    expect((await listRevisions(db)).map(({ hash }) => hash)).toEqual(['33aa', '22aa']);
    await putInForce(db, revision('44aa'), 1);
    await putInForce(db, revision('33aa'), 1);
    expect((await revisionInForce(db))?.hash).toBe('33aa');
  });
});
