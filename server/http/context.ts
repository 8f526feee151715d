import type { AssetService } from '../assets/service.ts';
import type { ClusterService } from '../cluster/service.ts';
import type { Missing } from '../doctor/missing.ts';
import type { Event } from '../events/kinds.ts';
import type { EventLog } from '../events/log.ts';
import type { FeedService } from '../feed/service.ts';
import type { ConfigDelivery } from '../ignition/delivery.ts';
import type { ConfigRenderer } from '../ignition/renderer.ts';
import type { TlsWatch } from '../ignition/tls-watch.ts';
import type { InventoryKeeper } from '../inventory/keeper.ts';
import type { MachineService } from '../machine/service.ts';
import type { Advertised } from '../net/advertise.ts';
import type { BootService } from '../netboot/service.ts';
import type { PipelineService } from '../pipeline/service.ts';
import type { Readiness } from '../readiness.ts';
import type { Store } from '../store/store.ts';
import type { TransferStatus } from '../tftp/service.ts';
import type { FileSender } from './files/sender.ts';
import type { ProgressBook } from './progress.ts';

/** What the HTTP plugins are given: nothing else is within their reach. */
export interface HttpContext {
  version: string;
  startedAt: number;
  store: Store;
  advertise: () => Advertised;
  /** Where it really listens. */
  ports: () => { http: number; https: number; tftp: number };
  /** What the appliance lacks to do its work, and how to get it. */
  missing: () => Promise<Missing[]>;
  events: EventLog;
  /** What happened last to a host. */
  lastEvent: (host: string) => Event | undefined;
  inventory: InventoryKeeper;
  /** Where the inventory's files are, and how the folder is called in messages. */
  inventoryFolder: { dir: string; shownAs: string };
  /** Takes the inventory as it is on disk now. */
  reload: () => Promise<void>;
  readiness: () => Readiness;
  /** Hashes of the tokens that may change things. */
  adminTokenHashes: () => Promise<string[]>;
  boot: BootService;
  machines: MachineService;
  clusters: ClusterService;
  delivery: ConfigDelivery;
  renderer: Pick<ConfigRenderer, 'kept' | 'preview' | 'reveal'>;
  tlsWatch: TlsWatch;
  /** `https://10.0.0.5:8443`, and the certificate that it is to be trusted by. */
  httpsUrl: () => string;
  authorityPem: string;
  /** Folder with the images, and what sends them. */
  assetsDir: string;
  bootDir: string;
  files: FileSender;
  /** What is mirrored, and the jobs that do it. */
  assets: AssetService;
  /** The sysext feed. */
  sysexts: FeedService;
  /** What is done to clusters after their machines are installed. */
  pipeline: PipelineService;
  progress: ProgressBook;
  /** TFTP downloads that are under way. */
  transfers: () => TransferStatus[];
  /** Aborted when the server stops: streams end themselves then. */
  stopSignal: AbortSignal;
  /** Host names, besides IP addresses and localhost, that people may have typed to get here. */
  ownNames: () => readonly string[];
}
