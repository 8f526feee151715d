import { describe, expect } from 'vitest';
import type { CandidateView } from '../../server/machine/observe.ts';
import { expectProvisioned, ofKind, STAGES_FROM_POINTER, stagesOf } from '../support/boot-facts.ts';
import { fallSilent } from '../support/host-agent.ts';
import { type Answer, asImpostor, IMPOSTOR } from '../support/impostor.ts';
import { type Lab, labTest } from '../support/lab.ts';
import { findLabTools } from '../support/lab-tools.ts';
import { until } from '../support/poll.ts';

const tools = await findLabTools();

const TWICE = '52:54:00:12:34:42';
const ROBBED = '52:54:00:12:34:47';
const SECRET = 'ef'.repeat(32);

describe.skipIf(tools === undefined)('of two machines with the MAC of one host', () => {
  const test = labTest({
    tools,
    hosts: `
  - { name: twice, pool: ram, identity: kept, macs: ['${TWICE}'] }
  - { name: robbed, pool: ram, identity: kept, macs: ['${ROBBED}'] }
`,
  });

  test.concurrent('the later one is a candidate and changes nothing, until an operator trusts it', async ({
    lab,
    boot,
  }) => {
    const spec = { firmware: 'bios', mac: TWICE } as const;
    expectProvisioned(await boot(spec), 'twice');
    const before = await hostOf(lab, 'twice');
    expect(before).toMatchObject({ identity: { generation: 1 }, candidates: [] });

    fallSilent(lab, 'twice');
    const second = await boot({ ...spec, guest: 'guest.patience=8' });
    expect(second.serial).toContain('railhead: this machine is a candidate');
    expect(second.serial).toContain('GUEST: FAILED: /opt/railhead/bin/railhead-node register');
    expect(ofKind(second, 'agent.registered', 'twice')).toEqual([]);
    const reason = 'twice is another machine (generation 1)';
    expect(ofKind(second, 'agent.alarm')).toMatchObject([{ host: 'twice', data: { reason } }]);
    expect(await hostOf(lab, 'twice')).toMatchObject({
      identity: { generation: 1 },
      candidates: [{ reason, nic: TWICE }],
    });
    expect((await lab.cli('hosts')).stdout).toMatch(/^ALARM twice: [\s\S]*railhead trust twice --keep/);
    expect(await lab.cli('trust', 'twice', '--keep')).toMatchObject({ code: 0 });
    expect(await hostOf(lab, 'twice')).toMatchObject({ candidates: [] });

    // Trusted while it waits: it goes on without a reboot.
    fallSilent(lab, 'twice');
    const third = await boot(spec, async () => {
      const candidate = await until(
        'it is a candidate',
        async () => (await hostOf(lab, 'twice')).candidates[0],
      );
      expect(await lab.cli('trust', 'twice', candidate.id)).toMatchObject({ code: 0 });
    });
    expectProvisioned(third, 'twice');
    expect(await hostOf(lab, 'twice')).toMatchObject({ identity: { generation: 2 }, candidates: [] });
  });

  test.concurrent('the host may be the later one: it raises the alarm, and trusting it revokes the first', async ({
    lab,
    boot,
  }) => {
    const asRobbed = asImpostor.bind(undefined, lab, ROBBED);
    const { kernelLine } = await lab.openBoot(ROBBED);
    // Whoever hears the host ask for its pointer has the token, and is faster than a machine that boots.
    const stolen: Answer[] = [];
    const overheard = await lab.interpose(kernelLine, async (answer, path) => {
      const heard = /^\/boot\/([\w-]{22})\/pointer\.ign$/.exec(path)?.[1];
      if (heard !== undefined && stolen.length === 0) {
        await asRobbed(async (ask) => {
          stolen.push(await ask('/agent/v1/register', heard, { secret: SECRET, bootId: 'stolen' }));
        });
      }
      return answer;
    });
    const robbed = await boot(
      { firmware: 'bios', mac: ROBBED, kernelLine: overheard, guest: 'guest.patience=120' },
      async () => {
        const candidate = await until(
          'it is a candidate',
          async () => (await hostOf(lab, 'robbed')).candidates[0],
        );
        expect(await lab.cli('trust', 'robbed', candidate.id)).toMatchObject({ code: 0 });
      },
    );
    expect(stolen).toMatchObject([{ status: 200 }]);
    expect(stagesOf(robbed)).toEqual(STAGES_FROM_POINTER.map((stage) => `robbed ${stage}`));
    expect(ofKind(robbed, 'agent.registered', 'robbed')).toMatchObject([
      { data: { address: IMPOSTOR, generation: 1 } },
      { data: { address: robbed.addresses[0], generation: 2 } },
    ]);
    expect(ofKind(robbed, 'agent.alarm', 'robbed')).toHaveLength(1);
    // What the first one got is good for nothing any more.
    const own: string = JSON.parse(stolen[0]!.body).token;
    await asRobbed(async (ask) => {
      expect(await ask('/agent/v1/kubeadm', own, {})).toMatchObject({ status: 401 });
      expect(await ask('/agent/v1/heartbeat', own, {})).toMatchObject({ status: 401 });
    });
  });
});

async function hostOf(lab: Lab, name: string): Promise<{ state: string; candidates: CandidateView[] }> {
  return JSON.parse(await lab.get(`/api/v1/hosts/${name}`));
}
