import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { KubeadmAnswer } from '../../server/cluster/joins.ts';
import type { Stage } from '../../server/machine/stages.ts';
import { type Answer, type Appliance, ask } from './appliance.ts';
import { bootMachine } from './booting.ts';

/** A machine that has booted and registered: what its scripts would ask, asked by the test. */
export class RegisteredAgent {
  readonly token: string;
  /** Of the boot that it registered with. */
  readonly attempt: string;
  readonly #appliance: Appliance;
  readonly #ca: string;

  private constructor(appliance: Appliance, ca: string, attempt: string, token: string) {
    this.#appliance = appliance;
    this.#ca = ca;
    this.attempt = attempt;
    this.token = token;
  }

  static async boot(appliance: Appliance, mac: string): Promise<RegisteredAgent> {
    const ca = await readFile(appliance.dataPath('keys', 'ca.pem'), 'utf8');
    const attempt = await bootMachine(appliance, mac);
    await appliance.ask(`/boot/${attempt}/pointer.ign`);
    const secret = createHash('sha256').update(mac).digest('hex');
    const { body } = await post(appliance, ca, '/agent/v1/register', attempt, {
      secret,
      bootId: `boot of ${mac}`,
    });
    return new RegisteredAgent(appliance, ca, attempt, (JSON.parse(body) as { token: string }).token);
  }

  /** What it is told to do about kubeadm; the status is 503 when it has to wait. */
  async kubeadm(): Promise<{ status: number; answer: KubeadmAnswer }> {
    const { status, body } = await post(this.#appliance, this.#ca, '/agent/v1/kubeadm', this.token);
    return { status, answer: JSON.parse(body) as KubeadmAnswer };
  }

  report(stage: Stage): Promise<Answer> {
    return post(this.#appliance, this.#ca, '/agent/v1/stage', this.token, { stage });
  }
}

function post(appliance: Appliance, ca: string, path: string, token: string, body?: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) };
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  return ask(`${appliance.httpsUrl}${path}`, { method: 'POST', headers, ca, ...json });
}
