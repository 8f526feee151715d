import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { type Command, Option } from 'commander';
import { hashFile } from '../content/hash-file.ts';
import { RailheadError } from '../errors.ts';
import { buildSysext } from '../feed/build/build.ts';
import { assertImageId, fileOf, type ImageId, parseFile, SYSEXT_ARCHS } from '../feed/image-name.ts';
import { connect, type ServerFlags, withServer } from './client.ts';
import { type CliIo, print, printJson } from './io.ts';
import { formatTable } from './table.ts';

interface Listed extends ImageId {
  file: string;
  size: number;
  sha256: string;
  origin: string;
  addedAt: string;
  url: string;
}

interface IdFlags {
  name?: string;
  version?: string;
  arch?: string;
}

/** sysext build, add, list, remove: the images that hosts update themselves with. */
export function registerSysext(program: Command, io: CliIo): void {
  const sysext = program.command('sysext').description('Images of system extensions: build, publish, list');
  registerBuild(sysext, io);
  registerAdd(sysext, io);
  registerList(sysext, io);
  registerRemove(sysext, io);
}

function registerBuild(sysext: Command, io: CliIo): void {
  withServer(sysext.command('build'))
    .description('Make an image of a folder that has usr/ (and opt/) in it')
    .argument('<DIR>', 'The folder')
    .requiredOption('--name <NAME>', 'Of the extension, such as kubernetes')
    .requiredOption('--version <VERSION>', 'Such as v1.33.2')
    .addOption(archOption().makeOptionMandatory())
    .option('--output <FILE>', 'Where to; default: <NAME>-<VERSION>-<ARCH>.raw in the current folder')
    .option('--publish', 'Put it into the feed of the running server')
    .addOption(forceOption())
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      '\nThe same files give the same bytes. Times in the image: SOURCE_DATE_EPOCH, or 0.',
    )
    .action(async (dir: string, flags) => {
      const id = assertImageId(flags);
      const output = resolve(io.cwd, flags.output ?? fileOf(id));
      await buildSysext({
        dir: resolve(io.cwd, dir),
        id,
        output,
        time: timeOf(io.env.SOURCE_DATE_EPOCH),
        env: io.env,
      });
      const { size, sha256 } = await hashFile(output);
      const published = flags.publish ? await publish(io, flags, output, id) : undefined;
      const built = { ...id, file: output, size, sha256 };
      if (flags.json) return printJson(io.stdout, { ...built, ...(published && { url: published.url }) });
      print(io.stdout, `${output}: ${size} bytes, SHA-256 ${sha256}`);
      if (published !== undefined) print(io.stdout, sentenceOf(published));
    });
}

function registerAdd(sysext: Command, io: CliIo): void {
  withServer(sysext.command('add'))
    .description('Put an image into the feed')
    .argument('<FILE>', 'A squashfs image called <name>-<version>-<arch>.raw, or give these by flags')
    .option('--name <NAME>', 'Of the extension; default: from the name of the file')
    .option('--version <VERSION>', 'Default: from the name of the file')
    .addOption(archOption())
    .addOption(forceOption())
    .option('--json', 'Print JSON')
    .action(async (given: string, flags) => {
      const path = resolve(io.cwd, given);
      const done = await publish(io, flags, path, idOf(path, flags));
      if (flags.json) return printJson(io.stdout, done);
      print(io.stdout, sentenceOf(done));
    });
}

function registerList(sysext: Command, io: CliIo): void {
  withServer(sysext.command('list'))
    .description('List the images of the feed')
    .option('--json', 'Print JSON')
    .action(async (flags) => {
      const images = await (await connect(io, flags)).get<Listed[]>('/api/v1/sysexts');
      if (flags.json) return printJson(io.stdout, images);
      const rows = images.map((image) => [
        image.name,
        image.version,
        image.arch,
        String(image.size),
        image.sha256.slice(0, 16),
        image.addedAt,
        image.origin,
      ]);
      print(io.stdout, formatTable(['name', 'version', 'arch', 'bytes', 'sha-256', 'since', 'from'], rows));
    });
}

function registerRemove(sysext: Command, io: CliIo): void {
  withServer(sysext.command('remove'))
    .description('Take a version out of the feed; hosts that have it keep it')
    .argument('<NAME>', 'Of the extension')
    .argument('<VERSION>', 'As `sysext list` shows it')
    .addOption(archOption())
    .option('--force', 'Also when a cluster is at this version')
    .option('--json', 'Print JSON')
    .action(async (name: string, version: string, flags) => {
      const query = new URLSearchParams({
        force: String(flags.force === true),
        ...(flags.arch && { arch: flags.arch }),
      });
      const client = await connect(io, flags);
      const path = `/api/v1/sysexts/${encodeURIComponent(name)}/${encodeURIComponent(version)}?${query}`;
      const { removed } = await client.delete<{ removed: Listed[] }>(path);
      if (flags.json) return printJson(io.stdout, removed);
      print(io.stdout, ...removed.map(({ file }) => `${file} is no longer in the feed.`));
    });
}

type Published = Listed & { isNew: boolean };

/** A request has a minute to arrive: enough for this, also on a slow line. */
const PIECE_BYTES = 4 * 1024 * 1024;

async function publish(
  io: CliIo,
  flags: ServerFlags & { force?: boolean },
  path: string,
  id: ImageId,
): Promise<Published> {
  const client = await connect(io, flags);
  const { size, sha256 } = await readable(path, () => hashFile(path));
  const { name, version, arch } = id;
  const way = `/api/v1/sysexts/${name}/${encodeURIComponent(version)}/${arch}`;
  for (let offset = 0; ; ) {
    const query = new URLSearchParams({
      sha256,
      force: String(flags.force === true),
      size: String(size),
      offset: String(offset),
    });
    const bytes = Math.min(PIECE_BYTES, size - offset);
    const body =
      bytes === 0 ? Readable.from([]) : createReadStream(path, { start: offset, end: offset + bytes - 1 });
    const answer = await client.upload<Published | { received: number }>(`${way}?${query}`, body, bytes);
    if (!('received' in answer)) return answer;
    if (answer.received === offset)
      throw new RailheadError('RH_SERVER_ANSWER', 'The server takes no more of it.');
    // Also what an earlier try has left: it goes on from there.
    offset = answer.received;
  }
}

function idOf(path: string, flags: IdFlags): ImageId {
  const { name, version, arch } = { ...parseFile(basename(path)), ...definedOf(flags) };
  if (name !== undefined && version !== undefined && arch !== undefined) {
    return assertImageId({ name, version, arch });
  }
  throw new RailheadError('RH_USAGE', `${basename(path)} doesn't say what it is.`, {
    hint: 'Images are called <name>-<version>-<x86-64|arm64>.raw; give --name, --version and --arch for another.',
  });
}

function definedOf({ name, version, arch }: IdFlags): IdFlags {
  return {
    ...(name === undefined ? {} : { name }),
    ...(version === undefined ? {} : { version }),
    ...(arch === undefined ? {} : { arch }),
  };
}

async function readable<T>(path: string, read: () => Promise<T>): Promise<T> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile()) return read();
  throw new RailheadError('RH_USAGE', `There is no file ${path}.`);
}

function sentenceOf({ file, url, isNew }: Published): string {
  return isNew ? `${file} is in the feed: ${url}` : `${file} was in the feed already: ${url}`;
}

function timeOf(text: string | undefined): number {
  if (text === undefined || text === '') return 0;
  if (/^\d{1,10}$/.test(text) && Number(text) < 2 ** 32) return Number(text);
  throw new RailheadError('RH_USAGE', `SOURCE_DATE_EPOCH: expected seconds since 1970, got "${text}"`);
}

function archOption(): Option {
  return new Option('--arch <ARCH>', "systemd's name of the architecture").choices(SYSEXT_ARCHS);
}

function forceOption(): Option {
  return new Option('--force', 'Replace an image of the same version that has other bytes');
}
