import { describe, expect } from 'vitest';
import {
  expectProvisioned,
  machineIdOf,
  ofKind,
  STAGES_FROM_POINTER,
  stagesOf,
  tokenOf,
} from '../support/boot-facts.ts';
import { speakUntilWaiting } from '../support/host-agent.ts';
import { type Answer, asImpostor, IMPOSTOR } from '../support/impostor.ts';
import { labTest } from '../support/lab.ts';
import { findLabTools } from '../support/lab-tools.ts';

const tools = await findLabTools();

const TWICE = '52:54:00:12:34:42';
const ROBBED = '52:54:00:12:34:47';

const NONCE = 'a-nonce-that-somebody-else-made';

describe.skipIf(tools === undefined)('of two machines with the MAC and the token of one host', () => {
  const test = labTest({
    tools,
    hosts: `
  - { name: twice, pool: ram, macs: ['${TWICE}'] }
  - { name: robbed, pool: ram, macs: ['${ROBBED}'] }
`,
  });

  test.concurrent('the one that registers later gets nothing; nor does the host, until a person has looked', async ({
    lab,
    boot,
  }) => {
    const spec = { firmware: 'bios', mac: TWICE } as const;
    const first = await boot(spec);
    expectProvisioned(first, 'twice');

    // Whoever comes with the MAC of a host that lives: the host itself after a restart, or a stranger.
    const second = await boot(spec, () => speakUntilWaiting(lab, 'twice'));
    expect(ofKind(second, 'boot.waiting', 'twice')[0]?.data.reason).toMatch(/^its agent was heard of/);
    expect(second.serial).toMatch(/Railhead: twice: its agent was heard of/);
    expectProvisioned(second, 'twice');
    expect(machineIdOf(second)).toBe(machineIdOf(first));
    expect(ofKind(second, 'boot.attempt-closed', 'twice')).toMatchObject([
      { attempt: first.attempt, data: { outcome: 'done' } },
    ]);
    await expect(
      lab.get(`/boot/${tokenOf(first)}/pointer.ign`),
      'what the first one had is worth nothing',
    ).rejects.toThrow('404');

    // A stranger that has seen the token pass, and has the host's MAC: all but the nonce.
    const kernelLine = /^GUEST: cmdline (.*)$/m.exec(second.serial)![1]!;
    const stranger = await boot({ ...spec, kernelLine, guest: 'guest.patience=8' });
    expect(stranger.serial).toContain('not registered yet: {');
    expect(stranger.serial).toContain('GUEST: FAILED: /opt/railhead/bin/railhead-node register');
    expect(ofKind(stranger, 'agent.registered', 'twice')).toEqual([]);
    expect(ofKind(stranger, 'agent.alarm')).toMatchObject([{ host: 'twice', attempt: second.attempt }]);
    expect(JSON.parse(await lab.get('/api/v1/hosts/twice'))).toMatchObject({ state: 'quarantined' });

    // Not even the real one gets anything, until a person has looked.
    const held = await boot(spec);
    expect(held.end).toBe('disk');
    expect(held.serial).toContain('Railhead: twice: two machines have registered');
  });

  test.concurrent('the host may be the later one: then it is the alarm, and what the first one got is worth nothing', async ({
    lab,
    boot,
  }) => {
    const asRobbed = asImpostor.bind(undefined, lab, ROBBED);
    const { token, kernelLine } = await lab.openBoot(ROBBED);
    // Whoever hears the host ask for its pointer has the token, and is faster than a machine that boots.
    const stolen: Answer[] = [];
    const overheard = await lab.interpose(kernelLine, async (answer, path) => {
      const heard = /^\/boot\/([\w-]{22})\/pointer\.ign$/.exec(path)?.[1];
      if (heard !== undefined) {
        await asRobbed(async (ask) => {
          stolen.push(await ask('/agent/v1/register', heard, { nonce: NONCE }));
          const own = JSON.parse(stolen[0]!.body).token;
          stolen.push(await ask('/agent/v1/kubeadm', own, {}));
        });
      }
      return answer;
    });
    const robbed = await boot({
      firmware: 'bios',
      mac: ROBBED,
      kernelLine: overheard,
      guest: 'guest.patience=8',
    });
    expect(stolen.map(({ status }) => status)).toEqual([200, 200]);
    const own: string = JSON.parse(stolen[0]!.body).token;

    // The host came all the way to its configuration, over TLS, and no further.
    expect(stagesOf(robbed)).toEqual(
      STAGES_FROM_POINTER.slice(0, STAGES_FROM_POINTER.indexOf('ignition-done')).map(
        (stage) => `robbed ${stage}`,
      ),
    );
    expect(robbed.serial).toContain('not registered yet: {');
    expect(robbed.serial).toContain('GUEST: FAILED: /opt/railhead/bin/railhead-node register');
    const about = { host: 'robbed', attempt: robbed.attempt };
    expect(ofKind(robbed, 'agent.registered', 'robbed')).toMatchObject([
      { ...about, data: { address: IMPOSTOR } },
    ]);
    const [address] = robbed.addresses;
    const reason = `two machines have registered with the token of one boot; the second from ${address}`;
    expect(ofKind(robbed, 'agent.alarm', 'robbed')).toMatchObject([{ ...about, data: { address, reason } }]);

    // Nothing for either of them any more, whatever they show.
    const held = { status: 503, body: expect.stringContaining(`robbed is held: ${reason}`) };
    const revoked = { status: 401, body: expect.stringContaining('RH_UNAUTHENTICATED') };
    await asRobbed(async (ask) => {
      expect(await ask('/agent/v1/register', token, { nonce: NONCE })).toEqual(held);
      expect(await ask(`/boot/${token}/config.ign`, token)).toEqual(held);
      expect(await ask('/agent/v1/kubeadm', own, {})).toEqual(revoked);
    });
    expect(JSON.parse(await lab.get('/api/v1/hosts/robbed'))).toMatchObject({
      state: 'quarantined',
      hold: reason,
    });
    expect((await lab.cli('hosts')).stdout).toMatch(/^robbed +quarantined /m);
    expect((await lab.cli('host', 'robbed')).stdout).toContain(reason);

    expect(await lab.cli('release', 'robbed')).toMatchObject({ code: 0 });
    await asRobbed(async (ask) => {
      expect(await ask('/agent/v1/register', token, { nonce: NONCE })).toEqual(revoked);
      expect(await ask('/agent/v1/kubeadm', own, {})).toEqual(revoked);
    });
    const anew = await lab.openBoot(ROBBED);
    expectProvisioned(
      await boot({ firmware: 'bios', mac: ROBBED, kernelLine: anew.kernelLine }),
      'robbed',
      STAGES_FROM_POINTER,
    );
    expect((await lab.cli('hosts')).stdout).toMatch(/^robbed +initialized /m);
  });
});
