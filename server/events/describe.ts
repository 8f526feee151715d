import { printable } from '../document/printable.ts';
import { formatPlace } from '../document/problem.ts';
import type { Event } from './kinds.ts';

/** An event in one sentence, for people. Much of it was said by whoever asked for something. */
export function describeEvent(event: Event): string {
  return printable(sentenceOf(event));
}

function sentenceOf(event: Event): string {
  switch (event.kind) {
    case 'server.started':
      return `Railhead ${event.data.version} started at ${event.data.advertise}`;
    case 'server.stopped':
      return `Stopped: ${event.data.reason}`;
    case 'inventory.activated': {
      const { revision, hosts, added, changed, removed, warnings } = event.data;
      const counts = `${hosts} hosts: ${added} added, ${changed} changed, ${removed} removed`;
      return `Inventory revision ${revision} in force (${counts}${warnings > 0 ? `; ${warnings} warnings` : ''})`;
    }
    case 'inventory.rejected': {
      const { inForce, errors, problems } = event.data;
      const kept = inForce === undefined ? 'none is in force' : `revision ${inForce} stays in force`;
      const first = problems[0];
      const example = first === undefined ? '' : ` ${formatPlace(first)}: ${first.message}`;
      const more = errors > 1 ? ` (and ${errors - 1} more)` : '';
      return `Inventory refused, ${kept}.${example}${more}`;
    }
    case 'inventory.recovered':
      return `The inventory is right again; revision ${event.data.revision} was in force all the time`;
    case 'tftp.transfer': {
      const { client, file, bytes, seconds, retransmits, result, reason } = event.data;
      const again = retransmits > 0 ? `, ${retransmits} blocks sent again` : '';
      const why = reason === undefined ? '' : ` (${reason})`;
      return `TFTP ${file} to ${client}: ${result}${why}, ${bytes} bytes in ${seconds} s${again}`;
    }
    case 'tftp.refused': {
      const { client, file, reason, repeats } = event.data;
      const times = repeats === undefined ? '' : ` (and ${repeats} times before)`;
      return `TFTP ${file === '' ? 'request' : file} from ${client} refused: ${reason}${times}`;
    }
    case 'boot.attempt-opened':
      return `Booting ${event.data.image} (${event.data.action})`;
    case 'boot.attempt-closed':
      return `Boot ended: ${event.data.outcome}`;
    case 'boot.stage': {
      const { stage, message, bytes, of } = event.data;
      const size = bytes === undefined ? '' : `, ${bytes === of ? bytes : `${bytes} of ${of}`} bytes`;
      return `Stage ${stage}${size}${message === undefined ? '' : `: ${message}`}`;
    }
    case 'boot.overdue':
      return `Late: waiting for ${event.data.waitingFor} since ${event.data.seconds} s, after ${event.data.stage}`;
    case 'boot.image-refused':
      return `${event.data.file} was not sent: ${event.data.reason}`;
    case 'boot.unknown': {
      const { mac, uuid, serial, vendor, address } = event.data;
      const facts = [mac, uuid, serial, vendor, address].filter((fact) => fact !== undefined);
      return `Unknown machine: ${facts.join(', ')}. It boots from its own disk; \`railhead adopt\` makes it a host`;
    }
    case 'boot.ambiguous':
      return `A machine could be ${event.data.hosts.join(' or ')}: ${event.data.reason}. It gets nothing`;
    case 'boot.held':
      return `Held: ${event.data.reason}`;
    case 'boot.waiting':
      return `Has to wait: ${event.data.reason}`;
    case 'boot.loader-loop':
      return `${event.data.client} loads ${event.data.file} again and again. ${event.data.fix}`;
    case 'boot.menu-failed':
      return `The menu can't be rendered: ${event.data.template}: ${event.data.reason}`;
    case 'boot.token-refused':
      return `${event.data.what} refused to ${event.data.address}: ${event.data.reason}`;
    case 'boot.address-changed':
      return `Another address: ${event.data.reason}`;
    case 'boot.tls-failed': {
      const { address, reason } = event.data;
      return `${address} came by TLS and gave up (${reason}): is the clock of the host right, and is it our CA that it trusts?`;
    }
    case 'ignition.failed': {
      const [first = '', ...more] = event.data.problems;
      return `Its configuration can't be made: ${first}${more.length > 0 ? ` (and ${more.length} more)` : ''}`;
    }
    case 'ignition.revealed':
      return `Its configuration was shown with all secrets to ${event.data.address}`;
    case 'agent.registered':
      return `Registered from ${event.data.address}`;
    case 'agent.alarm':
      return `ALARM: another machine at ${event.data.address} wants to be this host: ${event.data.reason}. Decide with \`railhead trust ${event.host}\``;
    case 'host.trusted':
      return `Trusted ${event.data.candidate}: it is this host from now on (generation ${event.data.generation})`;
    case 'host.candidates-dismissed':
      return `Kept: the machine stays the same, ${event.data.candidates} others were dismissed`;
    case 'host.ordered': {
      const { order, reason } = event.data;
      return `Ordered: ${order}${reason === undefined ? '' : ` (${reason})`}`;
    }
    case 'host.adopted':
      return `Adopted ${event.data.mac} into ${event.data.file}`;
    case 'feed.published': {
      const { file, bytes, sha256, origin } = event.data;
      return `Sysext ${file} published (${bytes} bytes, SHA-256 ${sha256.slice(0, 16)}…, ${origin})`;
    }
    case 'feed.removed':
      return `Sysext ${event.data.file} removed from the feed`;
    case 'feed.refused':
      return `${event.data.file} is not taken into the feed: ${event.data.reason}`;
    case 'feed.sent': {
      const { file, bytes, of } = event.data;
      return `Sysext ${file} fetched, ${bytes === of ? bytes : `${bytes} of ${of}`} bytes`;
    }
    case 'assets.job-started':
      return `Images: ${event.data.job} of ${event.data.files} files begins`;
    case 'assets.job-ended': {
      const { job, result, added, failed, fetched, reason } = event.data;
      const counts = `${added} new, ${failed} failed, ${(fetched / 1e6).toFixed(1)} MB fetched`;
      return `Images: ${job} ${result} (${counts})${reason === undefined ? '' : `: ${reason}`}`;
    }
    case 'assets.added':
      return `${event.data.name} is there (${event.data.size} bytes; ${event.data.verifiedHow})`;
    case 'assets.refused':
      return `${event.data.name} was refused: ${event.data.reason}. See ${event.data.note}`;
    case 'assets.pinned': {
      const { image, version, previous } = event.data;
      return `${image} current is ${version}${previous === undefined ? '' : `, and was ${previous}`}`;
    }
    case 'assets.pruned':
      return `Removed ${event.data.files} files that nothing needs (${(event.data.bytes / 1e6).toFixed(1)} MB)`;
    case 'pipeline.step-started': {
      const { cluster, step, attempt, why } = event.data;
      const again = attempt > 1 ? `, attempt ${attempt}` : '';
      return `${cluster}: ${step} begins (${why}${again})`;
    }
    case 'pipeline.step-done':
      return `${event.data.cluster}: ${event.data.step} is done, after ${event.data.seconds} s`;
    case 'pipeline.step-failed': {
      const { cluster, step, reason, retryInSeconds } = event.data;
      const next = retryInSeconds === undefined ? '' : `; again in ${retryInSeconds} s`;
      return `${cluster}: ${step} failed: ${reason}${next}`;
    }
    case 'pipeline.stuck':
      return `${event.data.cluster}: ${event.data.step} can't begin: ${event.data.reason}`;
    case 'pipeline.ordered': {
      const { cluster, order, step } = event.data;
      return `${cluster}: ordered: pipeline ${order}${step === undefined ? '' : ` ${step}`}`;
    }
    case 'cluster.secrets-made':
      return `Secrets of cluster ${event.data.cluster} made; its CA is ${event.data.caHash}`;
    case 'cluster.secrets-imported':
      return `Secrets of cluster ${event.data.cluster} imported; its CA is ${event.data.caHash}`;
    case 'cluster.secrets-exported':
      return `Secrets of cluster ${event.data.cluster} exported to an encrypted file`;
    case 'cluster.init-claimed':
      return `Begins the cluster ${event.data.cluster}, from ${event.data.address}: no other host may`;
    case 'cluster.kubeadm-answered': {
      const { cluster, action, before } = event.data;
      const left = before === 'reset' ? ', after a reset' : before === 'resume' ? ', going on' : '';
      return action === 'none'
        ? `Has nothing to do about kubeadm (cluster ${cluster})`
        : `Told to run kubeadm ${action}${left} (cluster ${cluster})`;
    }
    case 'cluster.waiting':
      return `Waits for ${event.data.reason}`;
    case 'cluster.reinit': {
      const { cluster, previous, newSecrets } = event.data;
      const who = previous === undefined ? '' : `; ${previous} had begun it`;
      return `Cluster ${cluster} may be begun anew${who}${newSecrets ? ', with new secrets' : ''}`;
    }
    case 'cluster.tokens-rotated':
      return `Bootstrap tokens of cluster ${event.data.cluster} replaced (${event.data.tokens})`;
    case 'cluster.kubeconfig-issued': {
      const { cluster, address, expires } = event.data;
      return `Kubeconfig of cluster ${cluster} given to ${address}, good until ${expires}`;
    }
    case 'cluster.api-up': {
      const { cluster, endpoint, first } = event.data;
      return `The API of cluster ${cluster} answers at ${endpoint}${first ? ' for the first time' : ' again'}`;
    }
    case 'cluster.api-unknown': {
      const { cluster, endpoint, reason } = event.data;
      return `The state of cluster ${cluster} is unknown: ${reason} at ${endpoint}`;
    }
    case 'node.joined':
      return `Node ${event.data.node} has joined ${event.data.cluster}${event.data.version && ` (${event.data.version})`}`;
    case 'node.ready':
      return `Node ${event.data.node} is ready`;
    case 'node.not-ready':
      return `Node ${event.data.node} is not ready: ${event.data.reason}: ${event.data.message}`;
    case 'node.removed':
      return `Node ${event.data.node} is no longer in ${event.data.cluster}`;
    case 'admin.token-created':
      return `Admin token "${event.data.name}" created`;
  }
}
